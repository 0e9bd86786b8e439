export interface Series {
  name: string;
  values: readonly (number | string | null)[];
}

interface ChartProps {
  title: string;
  kind: 'bar' | 'line';
  stacked?: boolean;
  labels: readonly string[];
  series: readonly Series[];
  format: (value: number | string) => string;
}

/** A chart. The figures stand in a table beside it, out of which the script draws; without it they can be read. */
export function Chart({ title, kind, stacked = false, labels, series, format }: ChartProps) {
  if (labels.length === 0) return null;
  return (
    <figure class="chart" data-chart={kind} data-stacked={String(stacked)}>
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      <details>
        <summary>
          Figures<span class="unseen">: {title}</span>
        </summary>
        <section class="scroll" aria-label={`Figures: ${title}`} tabindex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">
                  <span class="unseen">Of</span>
                </th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {labels.map((label, index) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  {series.map(({ name, values }) => {
                    const value = values[index] ?? 0;
                    return (
                      <td key={name} class="number" data-value={String(value)}>
                        {format(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </figure>
  );
}

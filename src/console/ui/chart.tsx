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

/** A chart. The script draws it from the table below it, which can be read without scripts too. */
export function Chart({ title, kind, stacked = false, labels, series, format }: ChartProps) {
  if (labels.length === 0) return null;
  return (
    <figure class="chart" data-chart={kind} data-stacked={String(stacked)}>
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      <details>
        <summary>
          Data<span class="unseen">: {title}</span>
        </summary>
        <section class="scroll" aria-label={`Data: ${title}`} tabindex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">
                  <span class="unseen">Group</span>
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

import { Table } from './table.tsx';

interface ChartProps {
  title: string;
  labels: readonly string[];
  series: readonly { name: string; values: readonly (number | string | null)[] }[];
  kind?: 'bar' | 'line';
  stacked?: boolean | undefined;
  format: (value: number | string) => string;
}

/**
 * A chart. The script draws it from the table below it, which can be read without scripts too. Without labels there is
 * nothing to draw an axis of.
 */
export function Chart({ title, kind = 'bar', stacked = false, labels, series, format }: ChartProps) {
  const isEmpty = labels.length === 0;
  return (
    <figure class="chart" data-chart={isEmpty ? undefined : kind} data-stacked={String(stacked)}>
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      {isEmpty ? (
        <p class="empty">No data.</p>
      ) : (
        <details>
          <summary>
            Data<span class="unseen">: {title}</span>
          </summary>
          <Table
            label={`Data: ${title}`}
            scrolls
            rows={[...labels.keys()]}
            columns={[
              { head: <span class="unseen">Group</span>, cell: (index) => labels[index], rowHead: true },
              ...series.map(({ name, values }) => ({
                head: name,
                cell: (index: number) => format(values[index] ?? 0),
                value: (index: number) => values[index] ?? 0,
                numeric: true,
              })),
            ]}
          />
        </details>
      )}
    </figure>
  );
}

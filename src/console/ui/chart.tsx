import { useContext } from 'preact/hooks';
import { VisitContext } from './context.ts';
import { Table } from './table.tsx';
import { formatAmount, formatCount } from './values.tsx';

export interface ChartSeries {
  name: string;
  values: readonly (number | string | null)[];
  /** What the series of the same name is compared with, such as "last month". */
  compared?: string | undefined;
}

interface ChartProps {
  title: string;
  labels: readonly string[];
  series: readonly ChartSeries[];
  /** Names have bars that lie, so that each can be read. A line needs more than a few points: those are bars. */
  kind?: 'bar' | 'line' | 'names';
  stacked?: boolean | undefined;
  /** Whether the values are amounts of money; otherwise they are counts. */
  amounts?: boolean | undefined;
  /** Shown instead of a chart without values. */
  empty?: string;
}

const fewestPoints = 8;
const manyNames = 6;

/** A chart. The script draws it from the table below it, which can be read without scripts too. */
export function Chart({
  title,
  kind = 'bar',
  labels,
  stacked = false,
  amounts = false,
  ...props
}: ChartProps) {
  const { currency } = useContext(VisitContext);
  const { empty = 'No data. Choose other days, or remove a filter.' } = props;
  const [own, compared] = [false, true].map((is) =>
    props.series.filter((one) => Boolean(one.compared) === is),
  );
  const series = [...own!, ...compared!];
  const isEmpty = !series.some(({ values }) => values.some((value) => Number(value ?? 0) !== 0));
  const format = (value: number | string) => (amounts ? formatAmount(value, currency) : formatCount(value));
  const caption = (
    <figcaption>
      <h2>{title}</h2>
    </figcaption>
  );
  if (isEmpty) {
    return (
      <figure class="chart">
        {caption}
        <p class="empty">{empty}</p>
      </figure>
    );
  }
  return (
    <figure
      class="chart"
      data-chart={kind === 'line' && labels.length < fewestPoints ? 'bar' : kind}
      data-stacked={String(stacked)}
      data-currency={amounts ? currency : undefined}
      data-compared={compared!.map(({ name }) => own!.findIndex((one) => one.name === name)).join(' ')}
    >
      {caption}
      <div class={`canvas${kind === 'names' && labels.length > manyNames ? ' tall' : ''}`}>
        <canvas role="img" aria-label={`Chart: ${title}`} />
      </div>
      <p class="copy" />
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
            ...series.map(({ name, compared, values }) => ({
              head: compared ? `${name}, ${compared}` : name,
              cell: (index: number) => format(values[index] ?? 0),
              value: (index: number) => values[index] ?? 0,
              numeric: true,
            })),
          ]}
        />
      </details>
    </figure>
  );
}

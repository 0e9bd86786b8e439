import type { ComponentChildren } from 'preact';
import type { Group, Groups } from '../../reports/groups.ts';
import type { Period } from '../../reports/periods.ts';
import type { Asked } from '../../reports/queries.ts';
import { titleOf } from '../../reports/report.ts';
import { countedRows } from '../../reports/totals.ts';
import { FieldValue, headOf } from '../ui/field-value.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatDay } from '../ui/time.ts';
import { formatCount, Nothing } from '../ui/values.tsx';
import type { ReportForm } from './form.ts';

export type GroupProps = Asked & ReportForm & { groups: Groups };

/** The sums of all rows, and those of an earlier period. */
export function Compared(props: GroupProps) {
  const { groups } = props;
  if (groups.isCut) return <CutNote {...props} />;
  return (
    <Table
      label="Compared with the earlier period"
      rows={groups.measures}
      columns={[
        { head: 'Sum', cell: (name) => headOfMeasure(props, name), rowHead: true },
        ...comparedColumns<string>(props, (name) => [name, groups.total]),
      ]}
    />
  );
}

/** One sum of both periods, and its change. @param sumOf a row's measure and group */
export function comparedColumns<Row>(
  props: GroupProps,
  sumOf: (row: Row) => readonly [measure: string, group: Group],
): Column<Row>[] {
  const { filter, grouped } = props;
  const column = (
    head: string,
    sort: string,
    show: (measure: string, group: Group) => ComponentChildren,
  ): Column<Row> => ({ head, sort, numeric: true, cell: (row) => show(...sumOf(row)) });
  const measure = (name: string, value: string | null | undefined) => (
    <Measure {...props} {...{ name, value }} />
  );
  return [
    column(daysOf(filter), props.groups.of, (name, { now }) => measure(name, now[name])),
    column(daysOf(grouped.earlier!), 'before', (name, { before }) => measure(name, before[name])),
    column('Change', 'change', (name, { change }) => (
      <Change name={name} value={change[name]}>
        {measure(name, change[name])}
      </Change>
    )),
    column('Change in %', 'change_share', (name, { change, change_share: share }) =>
      share[name] ? (
        <Change name={name} value={share[name]}>
          {percent.format(Number(share[name]))}
        </Change>
      ) : Number(change[name]) === 0 ? (
        <Nothing />
      ) : (
        'new'
      ),
    ),
  ];
}

const percent = new Intl.NumberFormat('en-IN', {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});

/** Less of these is better. */
const isLoss = (name: string) =>
  /^(due|discount|deleted|cancelled|no_show|aborted|waiting|failed)/.test(name);

type ChangeProps = Pick<MeasureProps, 'name' | 'value'> & { children: ComponentChildren };

/** A rise or a fall: by its sign too, and not by colour alone. */
function Change({ name, value, children }: ChangeProps) {
  const better = isLoss(name) ? -Number(value) : Number(value);
  return <span class={better < 0 ? 'bad' : better > 0 ? 'good' : undefined}>{children}</span>;
}

type MeasureProps = Pick<Asked, 'shown'> & { name: string; value: string | null | undefined };

export function Measure({ shown, name, value = null }: MeasureProps) {
  const column = shown.find((one) => one.name === name) ?? { name: 'count', type: 'bigint' };
  return <FieldValue column={column} row={{ [column.name]: value }} />;
}

export const headOfMeasure = ({ report }: Pick<Asked, 'report'>, name: string) =>
  name === 'rows' ? titleOf(report) : headOf(name);

export const daysOf = ({ from = '', to = '' }: { [Name in keyof Period]?: string | undefined }) =>
  from === to ? formatDay(from) : `${formatDay(from)} to ${formatDay(to)}`;

export const CutNote = ({ report }: Pick<Asked, 'report'>) => (
  <p class="warning" role="status">
    There are more than {formatCount(countedRows(report))} rows, and they are not summed. Choose a business or
    fewer days.
  </p>
);

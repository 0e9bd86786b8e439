import type { ComponentChildren } from 'preact';
import { type ViewColumn, viewColumn } from '../../receiver/store/view-columns.ts';
import { useVisit, type Values } from '../ui/context.ts';
import { type Column, Table } from '../ui/table.tsx';
import { formatAmount, Nothing, Value, words } from '../ui/values.tsx';
import type { List } from './list.ts';
import type { ListRow } from './query.ts';

interface CellProps {
  list: List;
  column: ViewColumn;
  row: ListRow;
  entered: Values;
}

interface RowsProps {
  list: List;
  /** Those that the rows have are shown. */
  columns: readonly string[];
  rows: readonly ListRow[];
  label?: string;
  empty?: ComponentChildren;
  printed?: ComponentChildren;
  /** What is chosen on the page, which its links keep. */
  entered?: Values;
}

/** Rows of a list, each value by the kind of its column. */
export function Rows({ list, columns, rows, label = list.title, entered = {}, ...table }: RowsProps) {
  const shown = columns.filter((name) => !rows[0] || Object.hasOwn(rows[0], name)).map(viewColumn);
  return (
    <Table
      {...{ label, rows }}
      {...table}
      columns={shown.map((column): Column<ListRow> => {
        const { name, label, kind } = column;
        const place = list.phone[name];
        const classes = [
          ['amount', 'count', 'figure'].includes(kind) && 'n',
          ['text', 'person'].includes(kind) && 'wide',
          place && `at-${place}`,
          ['note', 'badge'].includes(place!) &&
            ['amount', 'count', 'figure', 'moment'].includes(kind) &&
            'labelled',
        ];
        const cell = (row: ListRow) => <Cell {...{ list, column, row, entered }} />;
        return [label, cell, classes.filter(Boolean).join(' ')];
      })}
    />
  );
}

/** Amounts that are mostly nothing. */
const seldom = ['due_amount', 'refunded_amount'];

function Cell({ list, column: { name, kind }, row, entered }: CellProps) {
  const { patientHref } = useVisit();
  const value = row[name];
  const own = list.links?.[name]?.(row, entered);
  const isNothing = seldom.includes(name) && Number(value) === 0;
  if (isNothing || !value?.trim()) return own ? <a href={own}>Open</a> : <Nothing />;
  const text =
    list.words?.[name]?.(value) ?? list.choices[name]?.[value] ?? (kind === 'code' ? words(value) : value);
  if (name === 'due_amount' && Number(value) < 0) return `${formatAmount(-value)} in credit`;
  const patient = kind === 'person' && row.patient_id?.trim();
  const href = own ?? (patient ? patientHref([`p:platform:${patient}`]) : undefined);
  return <Value {...{ kind, name, value, text, href }} />;
}

import type { ComponentChildren } from 'preact';
import { formatDay } from '../../common/days.ts';
import { parseMoment } from '../../common/local-times.ts';
import { type ViewColumn, viewColumn } from '../../receiver/store/view-columns.ts';
import { isAliasKind } from '../../reconcile/aliases.ts';
import { useVisit, type Values } from '../ui/context.ts';
import { type Column, Table } from '../ui/table.tsx';
import {
  Amount,
  Badge,
  formatCount,
  Id,
  linkOf,
  Moment,
  Named,
  Nothing,
  Phone,
  words,
} from '../ui/values.tsx';
import type { List } from './list.ts';
import type { ListRow } from './query.ts';

interface ValueProps {
  list: List;
  column: ViewColumn;
  row: ListRow;
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
        const cell = (row: ListRow) => {
          const href = list.links?.[name]?.(row, entered);
          if (!row[name]?.trim()) return href ? <a href={href}>No number</a> : <Nothing />;
          const value = <Value {...{ list, column, row }} />;
          return href ? <a href={href}>{value}</a> : value;
        };
        return [label, cell, classes.filter(Boolean).join(' ')];
      })}
    />
  );
}

/** Amounts that are mostly nothing. */
const seldom = ['due_amount', 'refunded_amount'];

function Value({ list, column: { name, kind }, row }: ValueProps) {
  const { patientHref } = useVisit();
  const value = row[name]!;
  const plain =
    list.words?.[name]?.(value) ?? list.choices[name]?.[value] ?? (kind === 'code' ? words(value) : value);
  if (isAliasKind(kind)) return <Named kind={kind} id={value} />;
  switch (kind) {
    case 'amount':
      return seldom.includes(name) && Number(value) === 0 ? <Nothing /> : <Amount value={value} />;
    case 'count':
    case 'figure':
      return <>{formatCount(value)}</>;
    case 'day':
      return <>{formatDay(value)}</>;
    case 'moment':
      return <Moment at={parseMoment(value)} />;
    case 'state':
      return <Badge state={value} />;
    case 'code':
    case 'verbatim':
      return <>{plain}</>;
    case 'phone':
      return <Phone number={value} />;
    case 'person':
      if (!row.patient_id) return <>{value}</>;
      return <a href={patientHref([`p:platform:${row.patient_id.trim()}`])}>{value}</a>;
    case 'id':
    case 'reference':
      return <Id id={value} />;
    default:
      return linkOf(value, name) ?? <>{plain}</>;
  }
}

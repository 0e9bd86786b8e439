import { formatDay } from '../../common/days.ts';
import { formatDuration, formatInterval } from '../../common/local-times.ts';
import { words } from '../../common/words.ts';
import {
  aliasKindOf,
  familyOfId,
  isAmount,
  isId,
  isNumeric,
  type TypedColumn,
} from '../reports/column-kinds.ts';
import { recordHref } from './context.ts';
import { Amount, formatCount, Id, Named, Nothing, WrittenMoment } from './values.tsx';

const percent = new Intl.NumberFormat('en-IN', { style: 'percent', maximumFractionDigits: 1 });

/** A value that PostgreSQL cast to text, for people to read. */
export function FieldValue({
  column,
  row,
}: {
  column: TypedColumn;
  row: Readonly<Record<string, string | null>>;
}) {
  const { name, type } = column;
  const value = name === 'receipt_number' ? row[name] || row.receipt_id : row[name];
  if (value === null || value === undefined) return <Nothing />;
  if (value === '') return <span class="nothing">empty</span>;
  const kind = aliasKindOf(name);
  if (kind) return <Named kind={kind} id={value} />;
  if (name === 'receipt_number' && row.business_id && row.receipt_id)
    return <a href={recordHref('receipt', row.business_id, row.receipt_id)}>{value}</a>;
  const family = familyOfId(name);
  if (family && row.business_id != null)
    return <Id id={value} href={recordHref(family, row.business_id, value)} />;
  if (name === 'delivery_id' || name === 'example_delivery')
    return <Id id={value} href={`/console/deliveries/${value}`} />;
  if (name === 'quarantine_id') return <Id id={value} href={`/console/quarantine/${value}`} />;
  if (/^https?:\/\/\S+$/.test(value)) {
    return (
      <a href={value} rel="noreferrer" target="_blank">
        Open<span class="unseen"> {words(name)}</span>
      </a>
    );
  }
  if (isAmount(column)) return <Amount value={value} />;
  const unitMs = /_seconds$/.test(name) ? 1_000 : /_hours$/.test(name) ? 3_600_000 : undefined;
  if (unitMs && isNumeric(column)) return formatDuration(Number(value) * unitMs);
  if (/_share$/.test(name) && isNumeric(column)) return percent.format(Number(value));
  if (type === 'numeric' && !isId(name)) return formatCount(value);
  if (isId(name) && !/number$/.test(name)) return <Id id={value} />;
  if (type === 'bigint' || type === 'integer') return isId(name) ? value : formatCount(value);
  if (type === 'boolean') return value === 'true' ? 'yes' : 'no';
  if (type === 'date') return formatDay(value);
  if (type === 'interval') return formatInterval(value);
  if (type === 'timestamp with time zone') return <WrittenMoment value={value} />;
  if (type === 'jsonb') return <code>{value}</code>;
  return name === 'state' ? words(value) : value;
}

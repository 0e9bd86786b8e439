import { type Family, families } from '../../families/index.ts';
import { isAmount, isId, isNumeric, type TypedColumn } from '../../reports/column-kinds.ts';
import type { AliasKind } from '../../store/aliases.ts';
import { recordHref, words } from './links.ts';
import { formatDay, formatDuration, formatInterval, parseMoment } from './time.ts';
import { Amount, formatCount, IdLink, Moment, Named, Nothing } from './values.tsx';

const aliased: Record<string, AliasKind> = {
  business_id: 'business',
  bid: 'business',
  owner: 'business',
  clinic_id: 'clinic',
  facility_id: 'clinic',
  facilityid: 'clinic',
  doctor_id: 'doctor',
  doctor_oid: 'doctor',
  docid: 'doctor',
};

/** Columns that hold the id of a record, and the family of that. */
const recordColumns: Record<string, string> = {
  ...Object.fromEntries(
    (families as readonly Family[]).flatMap(({ name, identifiedBy }) =>
      identifiedBy ? [[`${name}_id`, name]] : [],
    ),
  ),
  form_id: 'consent_form',
  aid: 'appointment',
  visit_id: 'appointment',
  first_appointment_id: 'appointment',
};

/** What can have an alias in a column of this name. */
export const aliasKindOf = (name: string): AliasKind | undefined => aliased[name];

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
  const value = row[name];
  if (value === null || value === undefined) return <Nothing />;
  if (value === '') return <span class="nothing">empty</span>;
  const kind = aliasKindOf(name);
  if (kind) return <Named kind={kind} id={value} />;
  const family = recordColumns[name];
  if (family && row.business_id != null)
    return <a href={recordHref(family, row.business_id, value)}>{value}</a>;
  if (name === 'delivery_id' || name === 'example_delivery') return <IdLink to="deliveries" id={value} />;
  if (name === 'quarantine_id') return <IdLink to="quarantine" id={value} />;
  if (/^https?:\/\/\S+$/.test(value)) {
    return (
      <a href={value} rel="noreferrer" target="_blank">
        {words(name)}
      </a>
    );
  }
  if (isAmount(column)) return <Amount value={value} />;
  const unitMs = /_seconds$/.test(name) ? 1_000 : /_hours$/.test(name) ? 3_600_000 : undefined;
  if (unitMs && isNumeric(column)) return formatDuration(Number(value) * unitMs);
  if (/_share$/.test(name) && isNumeric(column)) return percent.format(Number(value));
  if (type === 'numeric' && !isId(name)) return formatCount(value);
  if (type === 'bigint' || type === 'integer') return isId(name) ? value : formatCount(value);
  if (type === 'boolean') return value === 'true' ? 'yes' : 'no';
  if (type === 'date') return formatDay(value);
  if (type === 'interval') return formatInterval(value);
  if (type === 'timestamp with time zone') {
    const at = parseMoment(value);
    return at ? <Moment at={at} /> : value;
  }
  return type === 'jsonb' ? <code>{value}</code> : value;
}

import pg from 'pg';
import { classOf, commonColumns, type Family } from '../../callbacks/families/family.ts';
import { kinds, unfitMark } from '../../callbacks/families/field.ts';

export function columnsOf({ fields, key }: Family): Record<string, string> {
  const keyColumn = key ? { [key]: kinds[fields[key]!.kind].column } : {};
  const others = Object.entries(fields).map(([name, { kind }]) => [name, kinds[kind].column]);
  return { business_id: 'text', ...keyColumn, ...Object.fromEntries(others), ...commonColumns };
}

export const keyOf = ({ key }: Family): string[] => (key ? ['business_id', key] : ['delivery_id']);

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
export const quoted = pg.escapeIdentifier;
export const array = (texts: readonly string[]): string => `array[${texts.map(literal).join(', ')}]::text[]`;

export const tableOf = ({ table }: Family): string => `public.${quoted(table)}`;

/** SQL for whether a row `t` of a family's table is that of a record `k`. */
export function isRowOf(family: Family): string {
  const key = keyOf(family).at(-1)!;
  const isKey = `t.${quoted(key)} = k.record_id::${columnsOf(family)[key]}`;
  return family.key ? `t.business_id = k.business_id and ${isKey}` : isKey;
}

/** SQL for a value of a person in a row, as text. @param path a field, or a key of a nested one, such as `patient.name` */
export function personIn(path: string, row = 't.'): string {
  const [field, key] = path.split('.');
  return key ? `receiver.name_of(${row}${quoted(field!)}->${literal(key)})` : row + quoted(field!);
}

/** SQL for the first of these values that is not blank. */
export const firstOf = (paths: readonly string[]): string =>
  `coalesce(${['null', ...paths.map((path) => `nullif(${personIn(path)}, '')`)].join(', ')})`;

/**
 * SQL for the values of a row, in the order of its columns: of `m`, what callbacks of a record say when merged (`d`, and the
 * `client_id`), `n`, the newest of them (`id`, `event`, `event_time`), and `k`, the record (`business_id`, `record_id`).
 */
export function valuesOf(family: Family): string[] {
  const { fields } = family;
  const columns = columnsOf(family);
  const lastKey = keyOf(family).at(-1)!;
  const deletions = Object.keys(family.events).filter((event) => classOf(family, event) === 'deleted');
  const marked = array(Object.keys(fields).map((field) => unfitMark + field));
  const names = array(Object.keys(fields));
  const common: Record<string, string> = {
    business_id: 'k.business_id',
    client_id: `coalesce(m.client_id, '')`,
    last_event: 'n.event',
    event_time: 'n.event_time',
    deleted_at: `case when n.event = any(${array(deletions)}) then n.event_time end`,
    // A value that did not fit its column stands under the name of its field, until a later one fits.
    extra: `nullif(case when m.d ?| ${marked} then (
      select jsonb_object_agg(case when key = any(${marked}) then substr(key, 2) else key end, value) from jsonb_each(m.d - ${names})
      where key <> all(${marked}) or not m.d ? substr(key, 2) or (
        select i.d ? key from (
          select version, coalesce(data, envelope->'data') as d from receiver.inbox
          where business_id = k.business_id and family = ${literal(family.name)} and record_id = k.record_id::text
        ) i where i.d ?| array[key, substr(key, 2)] order by version desc limit 1
      )
    ) else m.d - ${names} end, '{}')`,
    delivery_id: 'n.id',
    [lastKey]: `k.record_id::${columns[lastKey]}`,
  };
  return Object.keys(columns).map(
    (column) => common[column] ?? kinds[fields[column]!.kind].select('m.d', literal(column)),
  );
}

/** SQL for the businesses that callbacks have, without reading each callback. */
export const businessesOfInbox = `
with recursive b as (
  (select business_id from receiver.inbox order by 1 limit 1)
  union all
  select (select i.business_id from receiver.inbox i where i.business_id > b.business_id order by 1 limit 1) from b
  where b.business_id is not null
) select business_id from b where business_id is not null`;

import { classOf, type Family } from '../families/family.ts';
import { kinds } from '../families/field.ts';
import { misfitMark } from '../intake/read-data.ts';
import { columnsOf, keyOf } from '../store/migrate.ts';

/** What a merging statement returns: counts, and which records it left. */
export interface Merged {
  /** Whether the tables are made for the families of this process; else nothing was done. */
  isOurs: boolean;
  /** Deliveries that wait no longer. */
  merged: number;
  /** Rows that were inserted or changed. */
  written: number;
  /** Rows that went because no callback of their record is left. */
  deleted: number;
  /** Deliveries that were put off. */
  waiting: number;
  /** Records whose rows other sessions lock: business and record. */
  locked: [businessId: string, recordId: string][];
}

export interface MergeStatements {
  /** $1 fingerprint, $2 whether the feed is told, $3 its kind or null, $4 ids, $5 how many others that are due. */
  due: string;
  /** $1 to $3 as above, $4 and $5 the businesses and ids of records. Rows without callbacks are deleted. */
  records: string;
}

const cached = new WeakMap<Family, MergeStatements>();

/** The statements that merge records of a family: generated, since columns and types follow from its file. */
export function mergeStatements(family: Family): MergeStatements {
  let statements = cached.get(family);
  if (!statements) {
    statements = { due: generate(family, dueRecords(family)), records: generate(family, givenRecords) };
    cached.set(family, statements);
  }
  return statements;
}

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const name = (column: string) => `"${column.replaceAll('"', '""')}"`;
const array = (texts: readonly string[]) => `array[${texts.map(literal).join(', ')}]::text[]`;

/** SQL for when a delivery is tried again: after a pause that doubles. @param max SQL of an interval */
export const growingPause = (max: string): string =>
  `statement_timestamp() + least(${max}, interval '1 second' * 2 ^ least(attempts, 6))`;

// Not now(), the start of the transaction: it then waited for the lock.
/** SQL of the ids of due deliveries: those given, if they have not failed, and others. */
export const dueDeliveries = (family: Pick<Family, 'name'>, ids: string, others: string): string => `
  select id from receiver.pending_deliveries
  where family = ${literal(family.name)} and id = any(${ids}::uuid[]) and next_at < 'infinity'
  union
  (select id from receiver.pending_deliveries
   where family = ${literal(family.name)} and next_at <= statement_timestamp() order by next_at limit ${others})`;

const dueRecords = (family: Family) => `due as materialized (${dueDeliveries(family, '$4', '$5')}
), records as materialized (
  select distinct i.business_id, i.record_id from due join receiver.inbox i using (id) where exists (select from ours)
)`;

const givenRecords = `records as materialized (
  select distinct business_id, record_id from unnest($4::text[], $5::text[]) as r(business_id, record_id)
  where exists (select from ours)
)`;

function generate(family: Family, records: string): string {
  const { fields, identifiedBy } = family;
  const table = `public.${name(family.table)}`;
  const keys = keyOf(family);
  const lastKey = keys.at(-1)!;
  const recordKey = `k.record_id::${columnsOf(family)[lastKey]}`;
  /** The row of a record `k`. */
  const isRow = identifiedBy
    ? `t.business_id = k.business_id and t.${name(lastKey)} = ${recordKey}`
    : `t.delivery_id = ${recordKey}`;
  const isRecord = (a: string, b: string) =>
    `${a}.business_id = ${b}.business_id and ${a}.record_id = ${b}.record_id`;
  const deletions = Object.keys(family.events).filter((event) => classOf(family, event) === 'deleted');
  const marked = array(Object.keys(fields).map((field) => misfitMark + field));
  const known = array(Object.entries(fields).flatMap(([field, { alias }]) => [field, alias ?? []].flat()));
  const common: Record<string, string> = {
    business_id: 'k.business_id',
    client_id: 'n.client_id',
    last_event: 'n.event',
    event_time: 'n.event_time',
    deleted_at: `case when n.event = any(${array(deletions)}) then n.event_time end`,
    // A value that did not fit its column stands under the name of its field.
    extra: `nullif(case when k.d ?| ${marked} then (
      select jsonb_object_agg(case when key = any(${marked}) then substr(key, 2) else key end, value) from jsonb_each(k.d - ${known})
    ) else k.d - ${known} end, '{}')`,
    delivery_id: 'n.id',
    [lastKey]: recordKey,
  };
  const columns = Object.keys(columnsOf(family));
  const select = (column: string) =>
    common[column] ?? kinds[fields[column]!.kind].select('k.d', literal(column));
  const others = columns.filter((column) => !keys.includes(column)).map(name);
  const row = (of: string) => `row(${others.map((column) => `${of}.${column}`).join(', ')})`;
  const returned = `t.business_id, t.${name(lastKey)}::text as record_id`;
  const isFamily = `i.family = ${literal(family.name)}`;

  return `
with ours as materialized (
  select from receiver.settings where name = 'families' and value = $1::text
), ${records}, existing as materialized (
  select k.business_id, k.record_id from records k join ${table} t on ${isRow}
), free as materialized (
  select k.business_id, k.record_id from records k join ${table} t on ${isRow} for update of t skip locked
), mine as materialized (
  select * from free
  union all
  select k.* from records k where not exists (select from existing e where ${isRecord('e', 'k')})
), locked as materialized (
  select k.* from records k where not exists (select from mine m where ${isRecord('m', 'k')})
), versions as materialized (
  select i.business_id, i.record_id, i.id, i.version, i.event, i.client_id, i.event_time, coalesce(i.data, i.envelope->'data') as data
  from mine m join receiver.inbox i on ${isRecord('i', 'm')} and ${isFamily}
), newest as (
  select distinct on (business_id, record_id) * from versions order by business_id, record_id, version desc
), merged as (
  select business_id, record_id, receiver.jsonb_merge(data order by version) as d from versions group by business_id, record_id
), written as (
  insert into ${table} as t (${columns.map(name).join(', ')})
  select ${columns.map(select).join(', ')}
  from merged k join newest n on ${isRecord('n', 'k')}
  order by ${identifiedBy ? `k.business_id, ${recordKey}` : recordKey}
  on conflict (${keys.map(name).join(', ')}) do update set ${others.map((column) => `${column} = excluded.${column}`).join(', ')}
  where ${row('t')} is distinct from ${row('excluded')}
  returning ${returned}, t.deleted_at is not null as is_deleted
), gone as (
  delete from ${table} t using mine k
  where ${isRow} and not exists (select from versions v where ${isRecord('v', 'k')})
  returning ${returned}
), told as (
  insert into receiver.changes (family, business_id, record_id, kind)
  select ${literal(family.name)}, business_id, record_id, coalesce($3::text, case when is_deleted then 'deleted' else 'changed' end)
  from (select * from written union all select *, true from gone) changed where $2::boolean
), done as (
  delete from receiver.pending_deliveries p using versions v where p.id = v.id returning p.id
), put_off as (
  update receiver.pending_deliveries p
  set attempts = attempts + 1, next_at = ${growingPause("interval '1 minute'")}, error = 'its row is locked by another session'
  from locked k join receiver.inbox i on ${isRecord('i', 'k')} and ${isFamily}
  where p.id = i.id and p.next_at < 'infinity' returning p.id
)
select exists (select from ours) as "isOurs", (select count(*) from done)::int as merged, (select count(*) from written)::int as written,
       (select count(*) from gone)::int as deleted, (select count(*) from put_off)::int as waiting,
       (select coalesce(json_agg(json_build_array(business_id, record_id)), '[]') from locked) as locked`;
}

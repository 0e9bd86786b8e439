import { type Family, namesInData, readField } from '../families/index.ts';
import { erasureGate } from '../store/erasure-gate.ts';
import { failure } from '../store/failure.ts';
import type { DeliveryStatus } from '../store/tables.ts';
import type { SessionSettings } from '../store/transaction-settings.ts';

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
export const literal = (value: string) => `'${value.replaceAll("'", "''")}'`;

/** Retention reduces envelopes to what identifies a delivery; applying them again would empty the row. */
const isWhole = (table: string) =>
  `exists (select from inbox i where i.id = ${table}.id and i.envelope ? 'event_time')`;

/** A running erasure deletes what it has found, in a long transaction: whoever waited for its rows would wait for all of it. */
const isErasing = (table: string) => `exists (select from erasing e where e.id = ${table}.id)`;

/** Takes the deliveries that have this status, the ids $1 and one of these families; others are skipped. */
const taken: Record<DeliveryStatus, (families: string) => string> = {
  received: (families) => `
  delete from pending_deliveries where id = any($1::uuid[]) and family in (${families})
    and not ${isErasing('pending_deliveries')}
  returning id, null::timestamptz as applied_at`,
  failed: (families) => `
  delete from failed_deliveries where id = any($1::uuid[]) and family in (${families})
    and ${isWhole('failed_deliveries')} and not ${isErasing('failed_deliveries')}
  returning id, applied_at`,
  applied: (families) => `
  select id, applied_at from applied_deliveries where id = any($1::uuid[]) and family in (${families})
    and ${isWhole('applied_deliveries')} and not ${isErasing('applied_deliveries')}
  order by id for update`,
};

/**
 * The statement that applies deliveries ($1, ids) of this status to their families' tables. It is one statement, so that
 * it takes one round trip and needs no transaction. It returns one row: the number of deliveries `applied` and of rows
 * `changed`.
 *
 * It fails with `failureCode`, and changes nothing, if a row was silently dropped: each delivery needs its row of
 * `applied_deliveries`, and each record a row of this version or a greater one. One that another worker has written since the
 * statement began is not visible to it: the next attempt sees that.
 *
 * Deleting a delivery from the pending ones is the lock and the mark: of two workers, the second finds nothing. With
 * `planForAnySize` they are deleted in the order of their ids; the tables follow in the order of the list, each in the
 * order of its keys. This prevents deadlocks.
 */
export function applyStatement(families: readonly Family[], status: DeliveryStatus = 'received'): string {
  const names = families.map(({ name }) => literal(name)).join(', ');
  const changed = families.map(({ name }) => quoted(`changed_${name}`));
  const [replayed, isReplayed] = status === 'failed' ? [', replayed', ', true'] : ['', ''];
  const applied = `, applied as (
  insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at${replayed})
  select id, family, business_id, event_time, received_at, coalesce(applied_at, now())${isReplayed} from loaded
  returning id
)`;
  const numberOf = (name: string) => `(select count(*) from ${name})`;
  const numberChanged = changed.map(numberOf).join(' + ');
  const isDropped = [
    // Row security may hide rows of inbox.
    `${numberOf('taken')} <> ${numberOf('loaded')}`,
    ...(status === 'applied' ? [] : [`${numberOf('loaded')} <> ${numberOf('applied')}`]),
    // Where every delivery has changed a row, nothing is looked up.
    `${numberOf('loaded')} <> ${numberChanged} and (${families.map((family) => `exists (${missingOf(family)})`).join(' or ')})`,
  ];
  return `
with ${erasureGate}, taken as materialized (${taken[status](names)}
), loaded as materialized (
  select id, d.event, d.family, d.client_id, d.business_id, d.event_time, d.envelope, d.received_at, taken.applied_at
  from taken join inbox d using (id)
), ${families.map((family) => upsertOf(family, status !== 'received')).join(', ')}${status === 'applied' ? '' : applied}
select ${numberOf('loaded')}::int as applied, (${numberChanged})::int as changed,
  case when ${isDropped.join(' or ')} then ${failure} end as dropped,
  (select extract(epoch from now() - min(received_at))::float8 from loaded) as "waitedS"`;
}

/**
 * Settings for which PostgreSQL plans the statement with look-ups in indexes alone, once. Such a plan is right for
 * tables of any size; one that is chosen for empty tables scans them completely once they are large.
 */
export const planForAnySize: SessionSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

const upserts = new WeakMap<Family, string>();

function upsertOf(family: Family, isReplay: boolean): string {
  if (isReplay) return upsertStatement(family, true);
  const upsert = upserts.get(family) ?? upsertStatement(family, false);
  upserts.set(family, upsert);
  return upsert;
}

/**
 * The query for the rows that deliveries make of one family: all versions, also of the same thing.
 *
 * @param deliveries rows of inbox; with `applied_at`, where the family has a table of versions
 */
export function rowsMadeOf(family: Family, deliveries: string): { columns: string[]; query: string } {
  const { name, fields, deletedBy, versions } = family;
  const names = Object.keys(fields);
  // What has one name in `data` is unpacked at once.
  const isUnpacked = (field: string) => !fields[field]!.fromEnvelope && !fields[field]!.alias;
  const unpacked = names.filter(isUnpacked).map((field) => `${quoted(field)} ${fields[field]!.json}`);
  const read = (field: string) =>
    isUnpacked(field)
      ? `data.${quoted(field)}`
      : `(${readField(fields, field, 'd.envelope')})::${fields[field]!.json}`;
  const columns = {
    business_id: 'd.business_id',
    ...Object.fromEntries(names.map((field) => [field, fields[field]!.column(read(field))])),
    client_id: 'd.client_id',
    last_event: 'd.event',
    event_time: 'd.event_time',
    deleted_at: deletedBy
      ? `case when d.event = ${literal(deletedBy)} then d.event_time end`
      : 'null::timestamptz',
    extra: `(d.envelope->'data') - array[${namesInData(fields).map(literal).join(', ')}]::text[]`,
    delivery_id: 'd.id',
    ...(versions && { received_at: 'd.received_at', applied_at: 'coalesce(d.applied_at, now())' }),
  };
  const data = `
  cross join lateral jsonb_to_record(d.envelope->'data') as data(${unpacked.join(', ')})`;
  return {
    columns: Object.keys(columns),
    query: `
  select ${Object.entries(columns)
    .map(([column, value]) => `${value} as ${quoted(column)}`)
    .join(',\n    ')}
  from ${deliveries} d${unpacked.length > 0 ? data : ''}
  where d.family = ${literal(name)}`,
  };
}

/**
 * The common table expressions of one family; `changed_<family>` contains the rows that it changed.
 *
 * PostgreSQL parses the JSON. A row changes only for a greater version, or when the same version is replayed into
 * changed columns. A version is (event time, ordering field, position of the event in the lifecycle, delivery id).
 * Where the ordering field is missing, a deletion is the last of its second, because the thing stays deleted, and any
 * other event the first. The row contains all four, so the order of application makes no difference. Rows are written
 * in key order, which prevents deadlocks between workers.
 *
 * Where the family has a table of versions, its table contains the newest and the table of versions all others. A version
 * that is replaced is copied there by a trigger; one that is not the newest when it is applied is inserted here.
 *
 * @param isReplay whether the deliveries may have been applied before
 */
function upsertStatement(family: Family, isReplay: boolean): string {
  const { name, versions } = family;
  const { columns: own, query } = rowsMadeOf(family, 'loaded');
  const key = keyOf(family);
  const order = (row: string) => versionOrder(family, row);
  const [incoming, changed] = [quoted(`incoming_${name}`), quoted(`changed_${name}`)];

  const expressions = [
    `${incoming} as materialized (${query}
)`,
    `${changed} as (
  insert into ${quoted(family.table)} as existing (${list(own)})
  select distinct on (${list(key)}) ${list(own)}
  from ${incoming}
  order by ${[list(key), ...order(incoming).map((value) => `${value} desc`)].join(', ')}
  on conflict (${list(key)}) do update set
    ${own.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(',\n    ')}
  where (${order('excluded').join(', ')})
     >= (${order('existing').join(', ')})
    and (${qualified('existing', own)}) is distinct from (${qualified('excluded', own)})
  returning ${list([...new Set([...key, 'delivery_id'])])}
)`,
  ];
  if (versions) {
    const version = [...key, 'delivery_id'];
    const isNewest = `select from ${quoted(family.table)} newest where ${equal('newest', incoming, version)}`;
    expressions.push(`${quoted(`superseded_${name}`)} as (
  insert into ${quoted(versions)} (${list(own)})
  select ${list(own)}
  from ${incoming}
  where delivery_id not in (select delivery_id from ${changed})${isReplay ? ` and not exists (${isNewest})` : ''}
  on conflict do nothing
)`);
    // It was superseded before the newer versions were deleted.
    if (isReplay) {
      expressions.push(`${quoted(`newest_again_${name}`)} as (
  delete from ${quoted(versions)} superseded using ${changed} where ${equal('superseded', changed, version)}
)`);
    }
  }
  return expressions.join(', ');
}

const keyOf = ({ identifiedBy }: Family) => (identifiedBy ? ['business_id', identifiedBy] : ['delivery_id']);

/**
 * The incoming versions of records that were not changed although nothing, or a smaller version, was there before. The
 * scalar subquery takes PostgreSQL less time to plan than an anti-join.
 */
function missingOf(family: Family): string {
  const [incoming, changed] = [quoted(`incoming_${family.name}`), quoted(`changed_${family.name}`)];
  const key = keyOf(family);
  const order = (row: string) => versionOrder(family, row).join(', ');
  return `
  select from ${incoming}
  where (${qualified(incoming, key)}) not in (select ${list(key)} from ${changed}) and (
    select ((${order(incoming)}) > (${order('existing')})) is true
    from ${quoted(family.table)} existing where ${equal('existing', incoming, key)}) is distinct from false`;
}

/** What orders the versions of a thing: expressions over a row of its table. */
export function versionOrder({ events, orderedBy, deletedBy }: Family, row: string): string[] {
  const changeTime = (field: string) => {
    const orElse = (time: string) => `coalesce(${row}.${quoted(field)}, '${time}')`;
    if (!deletedBy) return orElse('-infinity');
    const isDeletion = `${row}.last_event = ${literal(deletedBy)}`;
    return `case when ${isDeletion} then ${orElse('infinity')} else ${orElse('-infinity')} end`;
  };
  return [
    `${row}.event_time`,
    ...(orderedBy ? [changeTime(orderedBy)] : []),
    ...(events.length > 1
      ? [`array_position(array[${events.map(literal).join(', ')}], ${row}.last_event)`]
      : []),
    `${row}.delivery_id`,
  ];
}

export const equal = (one: string, other: string, columns: readonly string[]) =>
  columns.map((column) => `${one}.${quoted(column)} = ${other}.${quoted(column)}`).join(' and ');

const list = (columns: readonly string[]) => columns.map(quoted).join(', ');
const qualified = (row: string, columns: readonly string[]) =>
  columns.map((column) => `${row}.${quoted(column)}`).join(', ');

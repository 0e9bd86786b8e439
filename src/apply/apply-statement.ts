import type { Family } from '../families/index.ts';

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (value: string) => `'${value.replaceAll("'", "''")}'`;

/**
 * The statement that applies deliveries ($1, ids) with one of the statuses $2 to their families' tables and marks
 * them `applied`. It is one statement, so that it takes one round trip and needs no transaction. It returns one row:
 * the number of deliveries `applied` and of rows `changed`.
 *
 * It locks all deliveries, ordered by id as the inbox does, before it writes the first row of a table; the tables
 * follow in the order of the list. This prevents deadlocks. The lookup is by id alone: with the status, PostgreSQL
 * would read the index of all unapplied deliveries. The status is read after locking, so that changes by another worker
 * are seen.
 */
export function applyStatement(families: readonly Family[]): string {
  const names = families.map(({ name }) => literal(name));
  const changed = families.map(({ name }) => quoted(`changed_${name}`));
  return `
with locked as materialized (
  select id, family, status, error, received_at from deliveries where id = any($1::uuid[]) order by id for update
), waiting as materialized (
  select id, family, status, error, received_at from locked where status = any($2::text[]) and family in (${names.join(', ')})
), ${families.map(upsertOf).join(', ')}, marked as (
  update deliveries d set status = 'applied', applied_at = coalesce(d.applied_at, now()), error = null
  from waiting where d.id = waiting.id and (waiting.status <> 'applied' or waiting.error is not null)
)
select (select count(*) from waiting)::int as applied,
  (${changed.map((name) => `(select count(*) from ${name})`).join(' + ')})::int as changed,
  (select extract(epoch from now() - min(received_at))::float8 from waiting) as "waitedS"`;
}

const upserts = new WeakMap<Family, string>();

function upsertOf(family: Family): string {
  const upsert = upserts.get(family) ?? upsertStatement(family);
  upserts.set(family, upsert);
  return upsert;
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
 * Where the family has a table of versions, each delivery gets a row there, with the times of receipt and of first
 * application. Only the owner of a delivery's lock writes it, so this is a plain insert, which is cheaper than
 * `on conflict`; earlier applications are looked up.
 */
function upsertStatement(family: Family): string {
  const { name, fields, identifiedBy, orderedBy, deletedBy, versions } = family;
  const names = Object.keys(fields);
  const unpacked = names.map((field) => `${quoted(field)} ${fields[field]!.json}`);
  const columns = {
    business_id: 'd.business_id',
    ...Object.fromEntries(names.map((field) => [field, fields[field]!.column(`data.${quoted(field)}`)])),
    client_id: 'd.client_id',
    last_event: 'd.event',
    event_time: 'd.event_time',
    deleted_at: deletedBy
      ? `case when d.event = ${literal(deletedBy)} then d.event_time end`
      : 'null::timestamptz',
    extra: `(d.envelope->'data') - array[${names.map(literal).join(', ')}]`,
    delivery_id: 'd.id',
  };
  const own = Object.keys(columns);
  const key = identifiedBy ? ['business_id', identifiedBy] : ['delivery_id'];
  const changeTime = (row: string, field: string) => {
    const orElse = (time: string) => `coalesce(${row}.${quoted(field)}, '${time}')`;
    if (!deletedBy) return orElse('-infinity');
    const isDeletion = `${row}.last_event = ${literal(deletedBy)}`;
    return `case when ${isDeletion} then ${orElse('infinity')} else ${orElse('-infinity')} end`;
  };
  const version = (row: string) => [
    `${row}.event_time`,
    ...(orderedBy ? [changeTime(row, orderedBy)] : []),
    `array_position(array[${family.events.map(literal).join(', ')}], ${row}.last_event)`,
    `${row}.delivery_id`,
  ];
  const incoming = quoted(`incoming_${name}`);

  const expressions = [
    `${incoming} as materialized (
  select ${Object.entries(columns)
    .map(([column, value]) => `${value} as ${quoted(column)}`)
    .join(',\n    ')},
    d.received_at, d.applied_at
  from waiting
  join deliveries d using (id)
  cross join lateral jsonb_to_record(d.envelope->'data') as data(${unpacked.join(', ')})
  where waiting.family = ${literal(name)}
)`,
    `${quoted(`changed_${name}`)} as (
  insert into ${quoted(family.table)} as existing (${list(own)})
  select distinct on (${list(key)}) ${list(own)}
  from ${incoming}
  order by ${[list(key), ...version(incoming).map((value) => `${value} desc`)].join(', ')}
  on conflict (${list(key)}) do update set
    ${own.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(',\n    ')}
  where (${version('excluded').join(', ')})
     >= (${version('existing').join(', ')})
    and existing.* is distinct from excluded.*
  returning 1
)`,
  ];
  if (versions) {
    const same = [...key, 'delivery_id'].map(
      (column) => `v.${quoted(column)} = ${incoming}.${quoted(column)}`,
    );
    expressions.push(`${quoted(`versions_${name}`)} as (
  insert into ${quoted(versions)} (${list(own)}, received_at, applied_at)
  select ${list(own)}, received_at, coalesce(applied_at, now())
  from ${incoming}
  where applied_at is null or not exists (select from ${quoted(versions)} v where ${same.join(' and ')})
)`);
  }
  return expressions.join(', ');
}

const list = (columns: readonly string[]) => columns.map(quoted).join(', ');

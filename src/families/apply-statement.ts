import type { Field } from './field.ts';

/** What the statement needs to know of a family. */
interface Definition {
  name: string;
  table: string;
  events: readonly string[];
  fields: Record<string, Field>;
  identifiedBy?: string | undefined;
  orderedBy?: string | undefined;
  deletedBy?: string | undefined;
  versions?: string | undefined;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (value: string) => `'${value.replaceAll("'", "''")}'`;

/**
 * The statement that applies those deliveries ($1, ids) whose status is one of $2 to their families' tables,
 * and marks them: all in one, so that it takes one round trip and needs no transaction around it. It answers
 * with one row: how many deliveries were `applied`, and how many rows `changed`.
 *
 * They are locked in the order of their ids, as the inbox touches them, and all of them before the first row
 * of a table, because those are sorted first; the tables are touched in the order of the list. So nobody waits
 * in a circle. By their ids alone: asked for the status too, PostgreSQL would read the index of all that is
 * still to do. The status is looked at once they are locked, so that another's work of the meantime is seen.
 */
export function applyStatement(families: readonly { name: string; upsert: string }[]): string {
  const names = families.map(({ name }) => literal(name));
  const changed = families.map(({ name }) => quoted(`changed_${name}`));
  return `
with locked as materialized (
  select id, family, status, received_at from deliveries where id = any($1::uuid[]) order by id for update
), waiting as materialized (
  select id, family, received_at from locked where status = any($2::text[]) and family in (${names.join(', ')})
), ${families.map(({ upsert }) => upsert).join(', ')}, marked as (
  update deliveries d set status = 'applied', applied_at = coalesce(d.applied_at, now()), error = null
  from waiting where d.id = waiting.id
)
select (select count(*) from waiting)::int as applied,
  (${changed.map((name) => `(select count(*) from ${name})`).join(' + ')})::int as changed,
  (select extract(epoch from now() - min(received_at))::float8 from waiting) as "waitedS"`;
}

/**
 * The part of it that is about one family; `changed_<family>` are the rows that it changed.
 *
 * It reads the JSON in PostgreSQL, keeps the newest version of each thing, and changes a row only for a
 * greater version, or when the same is applied again to a table that has changed: (event time, the ordering
 * field, place of the event in a thing's life, delivery id). All four stand in the row, so the order in which
 * deliveries are applied makes no difference. Rows are touched in key order, so that two workers never wait
 * for each other in a circle.
 *
 * Where the family has a table of versions, each delivery has its row there too, whatever its place in the
 * order, with the times at which it came and was applied.
 */
export function upsertStatement(family: Definition): string {
  const { name, fields, identifiedBy, orderedBy, deletedBy, versions } = family;
  const names = Object.keys(fields);
  const incoming = quoted(`incoming_${name}`);

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
  const times = versions ? { received_at: 'd.received_at', applied_at: 'coalesce(d.applied_at, now())' } : {};
  const unpacked = names.map((field) => `${quoted(field)} ${fields[field]!.json}`);
  const key = identifiedBy ? ['business_id', identifiedBy] : ['delivery_id'];
  const version = (row: string) => [
    `${row}.event_time`,
    ...(orderedBy ? [`coalesce(${row}.${quoted(orderedBy)}, '-infinity')`] : []),
    `array_position(array[${family.events.map(literal).join(', ')}], ${row}.last_event)`,
    `${row}.delivery_id`,
  ];
  const newestFirst = [...key.map(quoted), ...version(incoming).map((value) => `${value} desc`)].join(', ');

  const upserts = [
    `
${quoted(`changed_${name}`)} as (
${upsertInto(family.table, Object.keys(columns), {
  rows: `select distinct on (${list(key)}) ${list(Object.keys(columns))} from ${incoming} order by ${newestFirst}`,
  key,
  onlyWhere: `(${version('excluded').join(', ')})
   >= (${version('held').join(', ')})`,
})}
returning 1)`,
  ];
  if (versions) {
    const all = Object.keys({ ...columns, ...times });
    upserts.push(`
${quoted(`versions_${name}`)} as (
${upsertInto(versions, all, {
  rows: `select ${list(all)} from ${incoming} order by ${newestFirst}`,
  key: [...key, 'delivery_id'],
})})`);
  }
  return `${incoming} as materialized (
  select ${Object.entries({ ...columns, ...times })
    .map(([column, value]) => `${value} as ${quoted(column)}`)
    .join(',\n    ')}
  from waiting
  join deliveries d using (id)
  cross join lateral jsonb_to_record(d.envelope->'data') as data(${unpacked.join(', ')})
  where waiting.family = ${literal(name)}
),${upserts.join(',')}`;
}

const list = (names: readonly string[]) => names.map(quoted).join(', ');

/** Puts rows into a table; one that is there with the same key, `held`, takes their values where they differ. */
function upsertInto(
  table: string,
  columns: readonly string[],
  { rows, key, onlyWhere = 'true' }: { rows: string; key: readonly string[]; onlyWhere?: string },
): string {
  return `insert into ${quoted(table)} as held (${list(columns)})
${rows}
on conflict (${list(key)}) do update set
  ${columns.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(',\n  ')}
where ${onlyWhere}
  and held.* is distinct from excluded.*`;
}

import type { Field } from './field.ts';

/** What the statement needs to know of a family. */
interface Applicable {
  table: string;
  events: readonly string[];
  fields: Record<string, Field>;
  identifiedBy?: string | undefined;
  orderedBy?: string | undefined;
  deletedBy?: string | undefined;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (value: string) => `'${value.replaceAll("'", "''")}'`;

/**
 * The statement that applies a set of deliveries ($1, ids) of one family to its table.
 *
 * It reads the JSON in PostgreSQL, keeps the newest version of each thing, and changes a row only for a
 * greater version, or when the same is applied again to a table that has changed: (event time, the ordering field, place of the event in a thing's life, delivery id).
 * All four stand in the row, so the order in which deliveries are applied makes no difference. Rows are
 * touched in key order, so that two workers never wait for each other in a circle.
 */
export function applyStatement(family: Applicable): string {
  const { fields, identifiedBy, orderedBy, deletedBy } = family;
  const names = Object.keys(fields);

  const unpacked = names.map((name) => `${quoted(name)} ${fields[name]!.json}`);
  const columns: [name: string, value: string][] = [
    ['business_id', 'd.business_id'],
    ...names.map((name): [string, string] => [name, fields[name]!.column(`data.${quoted(name)}`)]),
    ['client_id', 'd.client_id'],
    ['last_event', 'd.event'],
    ['event_time', 'd.event_time'],
    [
      'deleted_at',
      deletedBy ? `case when d.event = ${literal(deletedBy)} then d.event_time end` : 'null::timestamptz',
    ],
    ['extra', `(d.envelope->'data') - array[${names.map(literal).join(', ')}]`],
    ['delivery_id', 'd.id'],
  ];
  const key = identifiedBy ? ['business_id', identifiedBy] : ['delivery_id'];
  const version = (row: string) => [
    `${row}.event_time`,
    ...(orderedBy ? [`coalesce(${row}.${quoted(orderedBy)}, '-infinity')`] : []),
    `array_position(array[${family.events.map(literal).join(', ')}], ${row}.last_event)`,
    `${row}.delivery_id`,
  ];

  return `
insert into ${quoted(family.table)} as held (${columns.map(([name]) => quoted(name)).join(', ')})
select distinct on (${key.map((k) => `incoming.${quoted(k)}`).join(', ')})
  ${columns.map(([name]) => `incoming.${quoted(name)}`).join(', ')}
from (
  select ${columns.map(([name, value]) => `${value} as ${quoted(name)}`).join(',\n    ')}
  from deliveries d
  cross join lateral jsonb_to_record(d.envelope->'data') as data(${unpacked.join(', ')})
  where d.id = any($1::uuid[])
) incoming
order by ${[...key.map((k) => `incoming.${quoted(k)}`), ...version('incoming').map((v) => `${v} desc`)].join(', ')}
on conflict (${key.map(quoted).join(', ')}) do update set
  ${columns.map(([name]) => `${quoted(name)} = excluded.${quoted(name)}`).join(',\n  ')}
where (${version('excluded').join(', ')})
   >= (${version('held').join(', ')})
  and held.* is distinct from excluded.*`;
}

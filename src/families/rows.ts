import { type Family, fieldsInData } from './family.ts';
import { type Field, saidTime } from './field.ts';
import { literal, namesInData, quoted, readField } from './sql.ts';

// SQL for what the callback of a delivery, `d`, says: its row.

/**
 * The query for the rows that deliveries make of one family: all versions, also of the same record, each as its delivery said it.
 *
 * @param deliveries rows of inbox; with `applied_at`, where the family has a table of versions
 */
export function rowsMadeOf(family: Family, deliveries: string): { columns: string[]; query: string } {
  const { name, fields, deletedBy, versions, identifiedBy, createdAt } = family;
  const names = Object.keys(fields);
  // Fields with one name in `data` are unpacked at once.
  const isUnpacked = (field: string) => !fields[field]!.fromEnvelope && !fields[field]!.alias;
  const unpacked = names.filter(isUnpacked).map((field) => `${quoted(field)} ${fields[field]!.json}`);
  const read = (field: string) =>
    isUnpacked(field)
      ? `data.${quoted(field)}`
      : `(${readField(fields, field, 'd.envelope')})::${fields[field]!.json}`;
  const saidTimes = names.filter((field) => isSaidTime(fields[field]!));
  const columnOf = (field: string) =>
    saidTimes.includes(field) ? `said.${quoted(field)}` : fields[field]!.column(read(field));
  const columns = {
    business_id: 'd.business_id',
    ...Object.fromEntries(names.map((field) => [field, columnOf(field)])),
    client_id: 'd.client_id',
    last_event: 'd.event',
    event_time: 'd.event_time',
    deleted_at: deletedBy
      ? `case when d.event = ${literal(deletedBy)} then d.event_time end`
      : 'null::timestamptz',
    extra: extraOf(family),
    delivery_id: 'd.id',
    ...(identifiedBy && { carried: carriedOf(family) }),
    ...(createdAt && { first_event_time: 'null::timestamptz' }),
    ...(versions && { received_at: 'd.received_at', applied_at: 'coalesce(d.applied_at, now())' }),
  };
  const data = `
  cross join lateral jsonb_to_record(d.envelope->'data') as data(${unpacked.join(', ')})`;
  const said = `
  cross join lateral (
    select ${saidTimes.map((field) => `said_time(${read(field)}, d.event_time) as ${quoted(field)}`).join(', ')}
  ) said`;
  return {
    columns: Object.keys(columns),
    query: `
  select ${Object.entries(columns)
    .map(([column, value]) => `${value} as ${quoted(column)}`)
    .join(',\n    ')}
  from ${deliveries} d${unpacked.length > 0 ? data : ''}${saidTimes.length > 0 ? said : ''}
  where d.family = ${literal(name)}`,
  };
}

/** Whether it says when something was done to the record: a time that may say nothing. */
const isSaidTime = ({ schema }: Field): boolean => schema === saidTime.schema;

const inData = (key: string) => `d.envelope->'data'->${literal(key)}`;

/** Whether the callback says a field that is not under its own name in `data`, or part of a fact. */
function isSaid({ fields, deletedBy, facts = {} }: Family, name: string): string {
  const isThere = (...keys: string[]) => {
    const some = `d.envelope->'data' ?| array[${keys.map(literal).join(', ')}]`;
    if (!deletedBy) return some;
    // Nulls of a deletion take nothing.
    const given = keys.map((key) => `${inData(key)} <> 'null'`).join(' or ');
    return `case when d.event = ${literal(deletedBy)} then ${given} else ${some} end`;
  };
  const own = (one: string) => {
    const { fromEnvelope, alias } = fields[one]!;
    if (fromEnvelope) return `${fromEnvelope('d.envelope')} is not null`;
    if (isSaidTime(fields[one]!)) return `said.${quoted(one)} is not null`;
    return alias ? isThere(one, alias) : isThere(one);
  };
  const lead = Object.keys(facts).find((one) => facts[one]!.includes(name));
  if (!lead) return own(name);
  // Fields of one fact move together: with the first, and without the others, those are empty.
  return `(${own(name)}) or ${deletedBy ? `d.event <> ${literal(deletedBy)} and ` : ''}(${own(lead)})`;
}

/** What of the documented fields the callback lacks: the column `carried`; null where it lacks nothing. */
function carriedOf(family: Family): string {
  const { fields, deletedBy, facts = {}, identifiedBy } = family;
  const parts = Object.values(facts).flat();
  const names = Object.keys(fields).filter((name) => name !== identifiedBy);
  const isPlain = (name: string) => {
    const field = fields[name]!;
    return !field.alias && !field.fromEnvelope && !isSaidTime(field);
  };
  const plain = names.filter((name) => isPlain(name) && !parts.includes(name));
  const others = names.filter((name) => !plain.includes(name));
  const lacks = others.map(
    (name) => `case when (${isSaid(family, name)}) is not true then ${literal(name)} end`,
  );
  const isDeletion = deletedBy ? `d.event = ${literal(deletedBy)}` : 'false';
  const textsOf = (those: readonly string[]) => `array[${those.join(', ')}]::text[]`;
  const mask = `carried_of(d.id, d.envelope->'data', ${textsOf(plain.toSorted().map(literal))}, ${textsOf(lacks)}, ${isDeletion})`;
  // Nearly all callbacks of some families say everything.
  const isWhole = [
    ...(deletedBy ? [`d.event <> ${literal(deletedBy)}`] : []),
    `d.envelope->'data' ?& ${textsOf(names.filter(isPlain).map(literal))}`,
    ...names.filter((name) => !isPlain(name)).map((name) => `(${isSaid({ ...family, facts: {} }, name)})`),
  ];
  return `case when (${isWhole.join(' and ')}) is not true then ${mask} end`;
}

/** The fields that are not documented, and times that say nothing, as they came. */
function extraOf({ fields, deletedBy }: Family): string {
  const unknown = `(d.envelope->'data') - array[${namesInData(fields).map(literal).join(', ')}]::text[]`;
  const times = fieldsInData(fields).filter(([, field]) => isSaidTime(field));
  const asItCame = times.map(
    ([name]) =>
      `case when said.${quoted(name)} is null and d.envelope->'data' ? ${literal(name)} then jsonb_build_object(${literal(name)}, ${inData(name)}) else '{}' end`,
  );
  const areAllSaid = times.map(([name]) => `said.${quoted(name)} is not null`).join(' and ');
  const extra =
    times.length > 0
      ? `(${unknown}) || case when ${areAllSaid} then '{}' else ${asItCame.join(' || ')} end`
      : unknown;
  return deletedBy
    ? `case when d.event = ${literal(deletedBy)} then without_nulls(${extra}) else ${extra} end`
    : extra;
}

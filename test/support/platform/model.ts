import type { Documented, Kind } from './documented.ts';
import type { Meaning, Value } from './meanings.ts';

/** A delivery that was acknowledged as new. */
export interface Accepted {
  /** From the response. */
  id: string;
  meaning: Meaning;
  /** As it was sent. */
  data: Row;
  /** When it was first received and applied, as the database says. */
  received_at: unknown;
  applied_at: unknown;
}

type Row = Record<string, unknown>;

/** What each table must contain, by table, in no order. Times are milliseconds. */
export function expectedTables(
  families: readonly Documented[],
  accepted: readonly Accepted[],
): Record<string, Row[]> {
  const tables: Record<string, Row[]> = {};
  for (const of of families) {
    const things = new Map<string, Accepted[]>();
    for (const one of accepted) {
      if (one.meaning.of !== of) continue;
      const key = of.key ? JSON.stringify([one.meaning.business, one.meaning.values[of.key]]) : one.id;
      things.set(key, [...(things.get(key) ?? []), one]);
    }
    const versions = [...things.values()].map((those) => those.toSorted(compareVersions));
    tables[of.table] = versions.map(foldedRow);
    if (of.versions) tables[of.versions] = versions.flatMap((those) => those.slice(0, -1).map(saidRow));
  }
  return tables;
}

function compareVersions(a: Accepted, b: Accepted): number {
  const [one, other] = [versionOf(a), versionOf(b)];
  const at = one.findIndex((part, index) => part !== other[index]);
  return at < 0 ? 0 : one[at]! < other[at]! ? -1 : 1;
}

const second = (ms: number) => Math.floor(ms / 1000);

/** What orders versions. Without the ordering field, a deletion is the last of its second, and any other event the first. */
function versionOf({ id, meaning, data }: Accepted): (string | number)[] {
  const { of, event, eventTime, values } = meaning;
  const unordered = event === of.deletedBy ? Infinity : -Infinity;
  const said = of.orderedBy && of.orderedBy in data ? (values[of.orderedBy] as number | null) : null;
  const changed = said ?? unordered;
  const rank = Object.keys(of.events).indexOf(event);
  const kind = event === of.deletedBy ? 3 : rank === 0 ? 1 : 2;
  return [second(eventTime), second(changed), kind, changed, eventTime, rank, id];
}

/** The same as the column `carried` has it: digits in UTC, so that the texts sort alike. */
function keyOf(one: Accepted): string {
  const [, , kind, changed, eventTime, rank, id] = versionOf(one) as [
    number,
    number,
    number,
    number,
    number,
    number,
    string,
  ];
  const digits = (ms: number) => new Date(ms).toISOString().replace(/\D/g, '');
  const [upToSecond, micros] = [
    (ms: number) => digits(ms).slice(0, 14),
    (ms: number) => `${digits(ms).slice(14)}000`,
  ];
  const isKnown = Number.isFinite(changed);
  return [
    upToSecond(eventTime),
    isKnown ? upToSecond(changed) : changed > 0 ? '~' : '-',
    kind,
    ...(isKnown ? [micros(changed)] : []),
    micros(eventTime),
    String(rank + 1).padStart(2, '0'),
    id,
  ].join(' ');
}

/** The fields that a delivery says, with their values; those of `extra` with a "+". */
function saidBy({ meaning, data }: Accepted): Map<string, unknown> {
  const { of, event, values } = meaning;
  const isDeletion = event === of.deletedBy;
  const said = new Map<string, unknown>();
  const keysOf = (name: string) => (name === 'prescription_id' ? [name, 'rx_id'] : [name]);
  for (const [name, kind] of Object.entries(of.fields)) {
    const value = columnOf(kind, values[name]!);
    const isThere = keysOf(name).some((key) => key in data && !(isDeletion && data[key] === null));
    if (
      kind === 'admission' || kind === 'time' ? value !== null && (kind === 'admission' || isThere) : isThere
    )
      said.set(name, value);
  }
  for (const [lead, parts] of Object.entries(of.facts ?? {})) {
    if (!said.has(lead) || isDeletion) continue;
    for (const part of parts) if (!said.has(part)) said.set(part, null);
  }
  for (const [key, value] of Object.entries(data)) {
    const kind = of.fields[key];
    const isUnknown = !Object.entries(of.fields).some(
      ([name, one]) => one !== 'admission' && keysOf(name).includes(key),
    );
    const isNothing = kind === 'time' && values[key] === null;
    if ((isUnknown || isNothing) && !(isDeletion && value === null)) said.set(`+${key}`, value);
  }
  return said;
}

/** The row of one version, as its delivery said it. */
function saidRow(one: Accepted): Row {
  return rowOf(one, saidBy(one), new Map(), null);
}

function foldedRow(versions: readonly Accepted[]): Row {
  const newest = versions.at(-1)!;
  const { of } = newest.meaning;
  if (!of.key) return saidRow(newest);
  const values = new Map<string, unknown>();
  const from = new Map<string, Accepted>();
  for (const version of versions) {
    for (const [name, value] of saidBy(version)) {
      values.set(name, value);
      from.set(name, version);
    }
  }
  const older = new Map<string, string[]>();
  for (const [name, version] of from) {
    if (version !== newest) older.set(keyOf(version), [...(older.get(keyOf(version)) ?? []), name]);
  }
  const first = Math.min(...versions.map(({ meaning }) => meaning.eventTime));
  const isFirst = !of.createdAt || values.has(of.createdAt) || first === newest.meaning.eventTime;
  return rowOf(newest, values, older, isFirst ? null : first);
}

function rowOf(
  one: Accepted,
  values: Map<string, unknown>,
  older: Map<string, string[]>,
  first: number | null,
): Row {
  const { id, meaning, received_at, applied_at } = one;
  const { of, event, eventTime, client, business } = meaning;
  const own = saidBy(one);
  const lacks = Object.keys(of.fields).filter((name) => name !== of.key && !own.has(name));
  const carried = {
    of: id,
    ...(lacks.length > 0 && { lacks: lacks.toSorted() }),
    ...(older.size > 0 && {
      from: Object.fromEntries([...older].map(([key, names]) => [key, names.toSorted()])),
    }),
  };
  const columns = Object.keys(of.fields).map((name) => [name, values.get(name) ?? null]);
  const extra = [...values].flatMap(([name, value]) =>
    name.startsWith('+') ? [[name.slice(1), value]] : [],
  );
  return {
    business_id: business,
    ...Object.fromEntries(columns),
    client_id: client,
    last_event: event,
    event_time: eventTime,
    deleted_at: event === of.deletedBy ? eventTime : null,
    extra: Object.fromEntries(extra),
    delivery_id: id,
    ...(of.key && { carried: Object.keys(carried).length > 1 ? carried : null }),
    ...(of.createdAt && { first_event_time: first }),
    ...(of.versions && { received_at, applied_at }),
  };
}

function columnOf(kind: Kind, value: Value | null): unknown {
  if (value === null) return null;
  if (kind === 'untyped') return String(value);
  if (kind !== 'name' || typeof value !== 'object') return value;
  const { salutation, first_name, last_name } = value as Record<string, string | null>;
  return [salutation, first_name, last_name].filter(Boolean).join(' ') || null;
}

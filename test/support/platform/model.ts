import type { Documented, Kind } from './documented.ts';
import type { Meaning, Value } from './meanings.ts';

/** A delivery that was acknowledged as new. */
export interface Accepted {
  /** From the response. */
  id: string;
  meaning: Meaning;
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
    const versions = [...things.values()].map((those) => those.toSorted(compareVersions).reverse());
    tables[of.table] = versions.map(([newest]) => rowOf(newest!));
    if (of.versions) tables[of.versions] = versions.flatMap(([, ...superseded]) => superseded.map(rowOf));
  }
  return tables;
}

function compareVersions(a: Accepted, b: Accepted): number {
  const [one, other] = [versionOf(a), versionOf(b)];
  const at = one.findIndex((part, index) => part !== other[index]);
  return at < 0 ? 0 : one[at]! < other[at]! ? -1 : 1;
}

/** What orders versions. Without the ordering field, a deletion is the last of its time, and any other event the first. */
function versionOf({ id, meaning }: Accepted): (string | number)[] {
  const { of, event, eventTime, values } = meaning;
  const unordered = event === of.deletedBy ? Infinity : -Infinity;
  const ordered = of.orderedBy ? ((values[of.orderedBy] as number | null) ?? unordered) : 0;
  return [eventTime, ordered, Object.keys(of.events).indexOf(event), id];
}

function rowOf({ id, meaning, received_at, applied_at }: Accepted): Row {
  const { of, event, eventTime, client, business, values, extra } = meaning;
  const columns = Object.entries(of.fields).map(([name, kind]) => [name, columnOf(kind, values[name]!)]);
  return {
    business_id: business,
    ...Object.fromEntries(columns),
    client_id: client,
    last_event: event,
    event_time: eventTime,
    deleted_at: event === of.deletedBy ? eventTime : null,
    extra,
    delivery_id: id,
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

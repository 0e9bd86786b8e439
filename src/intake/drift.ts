import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { type Family, fieldsInData, publicEnvelopeFields } from '../families/index.ts';
import { fieldName } from '../receiver/intake/rejection.ts';

type DriftKind = 'unknown' | 'missing' | 'value' | 'other';

type Documented = Pick<Family, 'events' | 'fields'>;

/** A row of `schema_drift`, as input of `record_schema_drift`. */
interface Note {
  event: string;
  field: string;
  kind: DriftKind;
  value: string;
  count: number;
  first_seen: Date;
  last_seen: Date;
  example_delivery: string;
}

const envelopeFields = new Set([...publicEnvelopeFields, 'data']);
// The table has the same limit.
const maxNewPerEvent = 100;
const flushEveryMs = 5_000;

// Names and values of a delivery that was erased, or will be when it is drained from the fallback store, are left out.
const statement = `
select record_schema_drift(coalesce(jsonb_agg(note), '[]'))
from jsonb_array_elements($1::jsonb) as note
where note->>'kind' not in ('unknown', 'value') or not exists (select from erased)
   or exists (select from inbox where id = (note->>'example_delivery')::uuid)`;

/**
 * Counts where callbacks differ from the documented interface. It counts in memory and writes every few seconds, so
 * that it does not delay callbacks; a crash loses the counts of the last seconds. Senders can cause a limited number of
 * rows per event, here and in the table: further differences are counted in one row per event.
 */
export function createDrift(pool: pg.Pool, log: Log, families: readonly Documented[]) {
  /** The fields of each event, and their names. */
  const documented = new Map(
    families.flatMap((family) => family.events.map((event) => [event, documentedFields(family)])),
  );
  let notes = new Map<string, Note>();
  /** The notes about unknown fields and values, per event. */
  let newPerEvent = new Map<string, number>();

  const add = (note: Note): void => {
    const { event, field, kind, value } = note;
    const key = `${event} ${field} ${kind} ${value}`;
    const known = notes.get(key);
    if (known) {
      known.count += note.count;
      known.last_seen = new Date(Math.max(+known.last_seen, +note.last_seen));
      known.first_seen = new Date(Math.min(+known.first_seen, +note.first_seen));
      return;
    }
    if (kind === 'unknown' || kind === 'value') {
      // All events that no family lists count together.
      const isEvent = field === '/event';
      const group = isEvent ? '' : event;
      const count = newPerEvent.get(group) ?? 0;
      if (count >= maxNewPerEvent) {
        add({ ...note, event: isEvent ? '…' : event, field: '', kind: 'other', value: '' });
        return;
      }
      newPerEvent.set(group, count + 1);
    }
    notes.set(key, note);
  };

  /** Writes the counts; after a failure they are written with the next ones. */
  const flush = async (): Promise<void> => {
    const counted = notes;
    if (counted.size === 0) return;
    notes = new Map();
    newPerEvent = new Map();
    try {
      await pool.query(statement, [JSON.stringify([...counted.values()])]);
    } catch (error) {
      log.limited('warn', {}, 'schema drift not written; retrying', { err: error });
      for (const note of counted.values()) add(note);
    }
  };
  const timer = setInterval(() => void flush(), flushEveryMs).unref();

  return {
    /** Counts the differences of an accepted callback. */
    observe: (id: string, envelope: { event: string; data: object }): void => {
      const { event } = envelope;
      const note = (of: string, field: string, kind: DriftKind, value = '') => {
        const now = new Date();
        add({
          event: of,
          field,
          kind,
          value,
          count: 1,
          first_seen: now,
          last_seen: now,
          example_delivery: id,
        });
      };
      const fields = documented.get(event);
      if (!fields) {
        note(eventName.test(event) ? event : '…', '/event', 'unknown');
        return;
      }
      for (const name in envelope) {
        if (!envelopeFields.has(name)) note(event, `/${fieldName(name)}`, 'unknown');
      }
      const data = envelope.data as Record<string, unknown>;
      // One look-up for each key that there is: a callback rarely differs.
      let missing = fields.required;
      let unknown = 0;
      for (const name in data) {
        const value = data[name];
        if (value === undefined) continue;
        const field = fields.byName.get(name);
        if (!field) unknown += 1;
        else if (name === field.name || data[field.name] === undefined) {
          if (!field.optional) missing -= 1;
          if (field.knownValues && typeof value === 'string' && !field.knownValues.includes(value)) {
            note(event, `/data/${field.name}`, 'value', fieldName(value));
          }
        }
      }
      if (missing > 0) {
        for (const { name, alias, optional } of fields.list) {
          const isThere = data[name] !== undefined || (alias && data[alias] !== undefined);
          if (!isThere && !optional) note(event, `/data/${name}`, 'missing');
        }
      }
      if (unknown === 0) return;
      for (const name in data) {
        if (fields.byName.has(name)) continue;
        note(event, `/data/${unknown > mostUnknownKeys ? '<key>' : fieldName(name)}`, 'unknown');
      }
    },
    flush,
    close: async (): Promise<void> => {
      clearInterval(timer);
      await flush();
    },
  };
}

function documentedFields({ fields }: Documented) {
  const list = fieldsInData(fields).map(([name, { alias, optional, knownValues }]) => ({
    name,
    alias,
    optional,
    knownValues,
  }));
  return {
    list,
    required: list.filter(({ optional }) => !optional).length,
    /** By each name that a field may have. */
    byName: new Map(
      list.flatMap((field) => [field.name, field.alias ?? []].flat().map((name) => [name, field] as const)),
    ),
  };
}

const eventName = /^[A-Za-z_][\w.]{0,99}$/;
/** An object with more unknown keys than this is a dictionary: its keys are values. */
const mostUnknownKeys = 50;

import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { type Family, fieldsInData, namesInData, publicEnvelopeFields } from '../families/index.ts';
import { fieldName } from './rejection.ts';

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
export class Drift {
  private readonly pool: pg.Pool;
  private readonly log: Log;
  /** The fields of each event, and their names. */
  private readonly documented: ReadonlyMap<string, ReturnType<typeof documentedFields>>;
  private notes = new Map<string, Note>();
  /** The notes about unknown fields and values, per event. */
  private newPerEvent = new Map<string, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(pool: pg.Pool, log: Log, families: readonly Documented[]) {
    this.pool = pool;
    this.log = log;
    this.documented = new Map(
      families.flatMap((family) => family.events.map((event) => [event, documentedFields(family)])),
    );
    this.timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Counts the differences of an accepted callback. */
  observe(id: string, envelope: { event: string; data: object }): void {
    const { event } = envelope;
    const fields = this.documented.get(event);
    if (!fields) {
      this.note(id, eventName.test(event) ? event : '…', '/event', 'unknown', '');
      return;
    }
    for (const name in envelope) {
      if (!envelopeFields.has(name)) this.note(id, event, `/${fieldName(name)}`, 'unknown', '');
    }
    const data = envelope.data as Record<string, unknown>;
    let unknown = Object.keys(data).length;
    for (const [name, { alias, optional, knownValues }] of fields.list) {
      const value = data[name] === undefined && alias ? data[alias] : data[name];
      if (value !== undefined) unknown -= 1;
      else if (!optional) this.note(id, event, `/data/${name}`, 'missing', '');
      if (knownValues && typeof value === 'string' && !knownValues.includes(value)) {
        this.note(id, event, `/data/${name}`, 'value', fieldName(value));
      }
    }
    if (unknown === 0) return;
    for (const name in data) {
      if (fields.names.has(name)) continue;
      const shown = unknown > mostUnknownKeys ? '<key>' : fieldName(name);
      this.note(id, event, `/data/${shown}`, 'unknown', '');
    }
  }

  /** Writes the counts; after a failure they are written with the next ones. */
  async flush(): Promise<void> {
    const notes = this.notes;
    if (notes.size === 0) return;
    this.notes = new Map();
    this.newPerEvent = new Map();
    try {
      await this.pool.query(statement, [JSON.stringify([...notes.values()])]);
    } catch (error) {
      this.log.limited('warn', {}, 'schema drift not written; retrying', { err: error });
      for (const note of notes.values()) this.add(note);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  private note(id: string, event: string, field: string, kind: DriftKind, value: string): void {
    const now = new Date();
    this.add({ event, field, kind, value, count: 1, first_seen: now, last_seen: now, example_delivery: id });
  }

  private add(note: Note): void {
    const { event, field, kind, value } = note;
    const key = `${event} ${field} ${kind} ${value}`;
    const known = this.notes.get(key);
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
      const count = this.newPerEvent.get(group) ?? 0;
      if (count >= maxNewPerEvent) {
        this.add({ ...note, event: isEvent ? '…' : event, field: '', kind: 'other', value: '' });
        return;
      }
      this.newPerEvent.set(group, count + 1);
    }
    this.notes.set(key, note);
  }
}

const documentedFields = ({ fields }: Documented) => ({
  names: new Set(namesInData(fields)),
  list: fieldsInData(fields),
});

const eventName = /^[A-Za-z_][\w.]{0,99}$/;
/** An object with more unknown keys than this is a dictionary: its keys are values. */
const mostUnknownKeys = 50;

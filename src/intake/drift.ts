import type pg from 'pg';
import type { Log } from '../log.ts';

export type DriftKind = 'unknown' | 'missing' | 'value' | 'other';

/** What the interface documents of a family: its fields, and the values of a few that were seen before. */
export interface Documented {
  events: readonly string[];
  fields: Record<string, { json: string; knownValues?: readonly string[] }>;
}

/** A row of `schema_drift`, as `record_schema_drift` takes it. */
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

const envelopeFields = new Set(['event', 'event_time', 'timestamp', 'client_id', 'business_id', 'data']);
// As many as the table takes.
const mostNewOfAnEvent = 100;
const flushEveryMs = 5_000;

/**
 * Counts where callbacks differ from what the interface documents. It counts in memory and writes every few
 * seconds, so that the path of a callback does not wait for it; a crash loses the last seconds. What senders
 * invent is bounded, here and in the table: what is too much for a row of its own is counted in one row an event.
 */
export class Drift {
  private readonly pool: pg.Pool;
  private readonly log: Log;
  private readonly documented = new Map<string, Documented>();
  private notes = new Map<string, Note>();
  /** How many notes of each event are about what its sender invented. */
  private invented = new Map<string, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(pool: pg.Pool, log: Log, families: readonly Documented[]) {
    this.pool = pool;
    this.log = log;
    for (const family of families) {
      for (const event of family.events) this.documented.set(event, family);
    }
    this.timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Looks at a callback that was taken in. */
  observe(id: string, envelope: { event: string; data: object }): void {
    const { event } = envelope;
    const family = this.documented.get(event);
    if (!family) return;
    for (const name in envelope) {
      if (!envelopeFields.has(name)) this.note(id, event, `/${wordOf(name)}`, 'unknown', '');
    }
    const data = envelope.data as Record<string, unknown>;
    for (const name in data) {
      if (!Object.hasOwn(family.fields, name)) this.note(id, event, `/data/${wordOf(name)}`, 'unknown', '');
    }
    for (const name in family.fields) {
      const value = data[name];
      if (value === undefined) this.note(id, event, `/data/${name}`, 'missing', '');
      const { knownValues } = family.fields[name]!;
      if (knownValues && typeof value === 'string' && !knownValues.includes(value)) {
        this.note(id, event, `/data/${name}`, 'value', wordOf(value));
      }
    }
  }

  /** Writes what was counted; what cannot be written now is written with the next. */
  async flush(): Promise<void> {
    const notes = this.notes;
    if (notes.size === 0) return;
    this.notes = new Map();
    this.invented = new Map();
    try {
      await this.pool.query('select record_schema_drift($1::jsonb)', [JSON.stringify([...notes.values()])]);
    } catch (error) {
      this.log.warn({ err: error }, 'the schema drift could not be written; it is tried again');
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
      const invented = this.invented.get(event) ?? 0;
      if (invented >= mostNewOfAnEvent) {
        this.add({ ...note, field: '', kind: 'other', value: '' });
        return;
      }
      this.invented.set(event, invented + 1);
    }
    this.notes.set(key, note);
  }
}

// A key or value that does not look like a word of a program may be somebody's name.
const word = /^[A-Za-z_]\w{0,63}$/;
const wordOf = (value: string) => (word.test(value) ? value : '…');

import type pg from 'pg';
import type { Log } from '../log.ts';

export type DriftKind = 'unknown' | 'missing' | 'value';

/** What the interface documents of a family: its fields, and the values of a few that were seen before. */
export interface Documented {
  events: readonly string[];
  fields: Record<string, { json: string; knownValues?: readonly string[] }>;
}

interface Note {
  event: string;
  field: string;
  kind: DriftKind;
  value: string;
  count: number;
  firstSeen: Date;
  lastSeen: Date;
  example: string;
}

const envelopeFields = new Set(['event', 'event_time', 'timestamp', 'client_id', 'business_id', 'data']);
const maxNotes = 1_000;
const flushEveryMs = 5_000;

const statement = `
insert into schema_drift (event, field, kind, value, count, first_seen, last_seen, example_delivery)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[],
                     $6::timestamptz[], $7::timestamptz[], $8::uuid[])
  as note(event, field, kind, value, count, first_seen, last_seen, example_delivery)
order by event, field, kind, value
on conflict (event, field, kind, value) do update set
  count = schema_drift.count + excluded.count,
  first_seen = least(schema_drift.first_seen, excluded.first_seen),
  last_seen = greatest(schema_drift.last_seen, excluded.last_seen),
  example_delivery = excluded.example_delivery`;

/**
 * Counts where callbacks differ from what the interface documents. It counts in memory and writes every few
 * seconds, so that the path of a callback does not wait for it; a crash loses the last seconds.
 */
export class Drift {
  private readonly pool: pg.Pool;
  private readonly log: Log;
  private readonly documented = new Map<string, Documented>();
  private notes = new Map<string, Note>();
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
    const column = <K extends keyof Note>(name: K) => Array.from(notes.values(), (note) => note[name]);
    try {
      await this.pool.query(statement, [
        column('event'),
        column('field'),
        column('kind'),
        column('value'),
        column('count'),
        column('firstSeen'),
        column('lastSeen'),
        column('example'),
      ]);
    } catch (error) {
      this.log.warn({ err: error }, 'the schema drift could not be written; it is tried again');
      for (const [key, note] of notes) this.add(key, note);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  private note(id: string, event: string, field: string, kind: DriftKind, value: string): void {
    const now = new Date();
    const note = { event, field, kind, value, count: 1, firstSeen: now, lastSeen: now, example: id };
    this.add(`${event} ${field} ${kind} ${value}`, note);
  }

  private add(key: string, note: Note): void {
    const known = this.notes.get(key);
    if (known) {
      known.count += note.count;
      known.lastSeen = new Date(Math.max(+known.lastSeen, +note.lastSeen));
      known.firstSeen = new Date(Math.min(+known.firstSeen, +note.firstSeen));
    } else if (this.notes.size < maxNotes) {
      this.notes.set(key, note);
    }
  }
}

// A key or value that does not look like a word of a program may be somebody's name.
const word = /^[A-Za-z_]\w{0,63}$/;
const wordOf = (value: string) => (word.test(value) ? value : '…');

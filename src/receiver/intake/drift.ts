import type pg from 'pg';
import { envelopeMembers } from '../../callbacks/callback.ts';
import { takesEveryEvent } from '../../callbacks/families/family.ts';
import { unfitMark } from '../../callbacks/families/field.ts';
import type { ReadResult } from '../../callbacks/read-callback.ts';
import { fieldName } from '../../callbacks/rejection.ts';
import type { Log } from '../../common/log.ts';
import { gate } from '../store/insert-deliveries.ts';
import { besideThePath, inTransaction } from '../store/pools.ts';

/** `unfit`: a value that does not fit its column; `value`: an unknown value of a code. */
type DriftKind = 'unknown' | 'missing' | 'value' | 'unfit';

// Senders choose names: what comes beyond these is not counted.
const maxNotes = 500;
const maxRows = 5_000;
const flushEveryMs = 5_000;
/** An object with more unknown keys is a dictionary: its keys are values. */
const maxUnknownKeys = 50;

const statement = `
with ${gate}
insert into receiver.counters as c (name, key, count, first_at, last_at, example)
select 'drift', key, count, now(), now(), example
from jsonb_to_recordset($1::jsonb) as n(key text, count bigint, example uuid)
-- Not of a callback that the gate has reduced: a word of it may be a name.
where exists (select from receiver.inbox where id = n.example) and (
  exists (select from receiver.counters where name = 'drift' and key = n.key)
  or (select count(*) from receiver.counters where name = 'drift') < ${maxRows}
)
order by key
on conflict (name, key) do update
  set count = c.count + excluded.count, last_at = excluded.last_at, example = excluded.example`;

interface Drift {
  observe: (received: ReadResult) => void;
  close: () => Promise<void>;
}

/**
 * Counts where callbacks differ from the documented interface: in memory, and every few seconds in `counters`, so that no
 * callback waits for it. A key is JSON: event, field, kind, value.
 */
export function createDrift(pool: pg.Pool, log: Log): Drift {
  let notes = new Map<string, { count: number; example: string }>();

  const add = (key: string, count: number, example: string): void => {
    const existing = notes.get(key);
    if (existing) existing.count += count;
    else if (notes.size < maxNotes) notes.set(key, { count, example });
  };
  const note = (example: string, event: string, field: string, kind: DriftKind, value = ''): void =>
    add(JSON.stringify([event, field, kind, value]), 1, example);

  const flush = async () => {
    if (notes.size === 0) return;
    const rows = [...notes].map(([key, note]) => ({ key, ...note }));
    notes = new Map();
    try {
      await inTransaction(pool, besideThePath, (client) => client.query(statement, [JSON.stringify(rows)]));
    } catch (err) {
      log.limited('warn', {}, 'schema drift not written; retrying', { err });
      for (const { key, count, example } of rows) add(key, count, example);
    }
  };
  const timer = setInterval(() => void flush(), flushEveryMs).unref();

  return {
    observe: ({ delivery: { id }, callback, family, unfitFields }) => {
      const { event, data } = callback;
      if (takesEveryEvent(family)) {
        note(id, /^[A-Za-z_][\w.]{0,99}$/.test(event) ? event : '…', '/event', 'unknown');
        return;
      }
      for (const name in callback)
        if (!envelopeMembers.has(name)) note(id, event, `/${fieldName(name)}`, 'unknown');
      for (const name of unfitFields) note(id, event, `/data/${name}`, 'unfit');
      const { fields } = family;
      for (const name in fields) {
        const { optional, fromEnvelope, meanings } = fields[name]!;
        const value = data[name];
        if (value === undefined && !optional && !fromEnvelope && !(unfitMark + name in data))
          note(id, event, `/data/${name}`, 'missing');
        if (meanings && typeof value === 'string' && value !== '' && !Object.hasOwn(meanings, value))
          note(id, event, `/data/${name}`, 'value', fieldName(value));
      }
      const unknown = Object.keys(data).filter(
        (name) => !Object.hasOwn(fields, name.startsWith(unfitMark) ? name.slice(1) : name),
      );
      for (const name of unknown)
        note(id, event, `/data/${unknown.length > maxUnknownKeys ? '<key>' : fieldName(name)}`, 'unknown');
    },
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}

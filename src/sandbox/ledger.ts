import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Attempt } from './post.ts';

/** A file with one JSON line per acknowledged delivery. */
export interface Ledger {
  /** Writes `{"id","event","business_id","status"}` if the attempt was acknowledged. */
  record(attempt: Attempt): Promise<void>;
  /** Flushes to the disk (fsync) and closes. */
  close(): Promise<void>;
}

/** Opens a ledger and empties the file. Raises the error of node:fs. */
export async function openLedger(path: string): Promise<Ledger> {
  const stream = createWriteStream(path, { flush: true });
  await once(stream, 'open');
  return {
    record: async ({ acknowledged, callback, id, state }) => {
      if (!acknowledged) return;
      const line = JSON.stringify({
        id: id ?? null,
        event: callback.event,
        business_id: callback.businessId,
        status: state ?? null,
      });
      await new Promise<void>((resolve, reject) => {
        stream.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
      });
    },
    close: async () => {
      const closed = once(stream, 'close');
      stream.end();
      await closed;
    },
  };
}

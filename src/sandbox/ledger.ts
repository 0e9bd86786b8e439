import { appendFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Attempt } from './post.ts';

/** Opens a file for one JSON line per acknowledged delivery, and empties it. Raises the error of node:fs. */
export async function openLedger(path: string) {
  const file = await open(path, 'w');
  return {
    /** Writes `{"id","event","business_id","status"}` if the attempt was acknowledged. */
    record({ acknowledged, callback, id, state }: Attempt): void {
      if (!acknowledged) return;
      const { event, businessId: business_id } = callback;
      const line = JSON.stringify({ id: id ?? null, event, business_id, status: state ?? null });
      appendFileSync(file.fd, `${line}\n`);
    },
    /** Flushes to the disk (fsync) and closes. */
    async close(): Promise<void> {
      await file.sync();
      await file.close();
    },
  };
}

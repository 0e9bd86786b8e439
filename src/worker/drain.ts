import type { Intake } from '../intake/intake.ts';
import { listSpilled, postponeSpilled, removeSpilled } from '../intake/spilled.ts';
import type { FallbackStream } from '../queue/fallback-stream.ts';
import type { Db } from '../store/tables.ts';

const maxEntries = 500;
const maxBytes = 16 * 1024 * 1024;

/**
 * Moves the oldest deliveries of the fallback into the database. An entry is removed from Redis only after that; after a
 * crash in between, its delivery is a duplicate at the next drain.
 *
 * @param bodyLimitBytes the largest body
 * @returns the number of moved deliveries; 0: none can be drained
 * @throws Unavailable while the database is unavailable; Redis's error
 */
export async function drain(
  fallback: FallbackStream,
  intake: Pick<Intake, 'drain'>,
  bodyLimitBytes: number,
): Promise<number> {
  const count = Math.min(maxEntries, Math.max(1, Math.floor(maxBytes / bodyLimitBytes)));
  for (const stream of await fallback.streams()) {
    const entries = await fallback.read(stream, count);
    if (entries.length === 0) continue;
    const results = await Promise.allSettled(entries.map((entry) => intake.drain(entry)));
    const moved = entries.filter((_, index) => results[index]!.status === 'fulfilled');
    const isSettled = (_: unknown, index: number) => {
      const result = results[index]!;
      return result.status === 'fulfilled' && !result.value;
    };
    const settled = entries.filter(isSettled).map(({ id }) => id);
    if (moved.length > 0) await fallback.remove(stream, moved, settled);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return moved.length;
  }
  return 0;
}

/**
 * Moves what was stored beside inbox into it. What still meets a damaged page is tried again later.
 *
 * @param alone runs the rest where there is something to do, unless another process does
 * @throws the database's error
 */
export async function drainSpilled(
  db: Db,
  intake: Pick<Intake, 'drain'>,
  alone: (work: () => Promise<void>) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  if ((await listSpilled(db)).length > 0) await alone(() => moveSpilled(db, intake, signal));
}

async function moveSpilled(db: Db, intake: Pick<Intake, 'drain'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const entries = await listSpilled(db);
    const results = await Promise.allSettled(
      entries.map((entry) => intake.drain(entry, { isSpilled: true })),
    );
    const idsWith = (status: string) =>
      entries.filter((_, index) => results[index]!.status === status).map(({ id }) => id);
    await removeSpilled(db, idsWith('fulfilled'));
    const left = idsWith('rejected');
    if (left.length > 0) await postponeSpilled(db, left);
    if (entries.length === 0) return;
  }
}

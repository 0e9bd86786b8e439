import type { Intake } from '../intake/intake.ts';
import type { FallbackStream } from '../queue/fallback-stream.ts';

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
    if (moved.length > 0) await fallback.remove(stream, moved);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return moved.length;
  }
  return 0;
}

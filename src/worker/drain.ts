import { type Inbox, Refused } from '../intake/inbox.ts';
import type { Quarantine } from '../intake/quarantine.ts';
import type { Log } from '../log.ts';
import type { FallbackStream, StreamEntry } from '../queue/fallback-stream.ts';

export interface DrainParts {
  fallback: FallbackStream;
  /** Without a fallback of its own. */
  inbox: Pick<Inbox, 'append'>;
  quarantine: Pick<Quarantine, 'keep'>;
  /** The registered path of each family. */
  paths: Record<string, string>;
  /** The largest body. */
  bodyLimitBytes: number;
  log: Log;
}

const mostEntries = 500;
const mostBytes = 16 * 1024 * 1024;

/**
 * Moves the oldest deliveries of the fallback into the database. They were acknowledged: one that PostgreSQL
 * refuses is kept in the quarantine, where nothing evicts it. An entry leaves Redis after that, and not before;
 * what a crash leaves there is found to be a duplicate the next time.
 *
 * @returns how many were moved; 0: none is left
 * @throws Unavailable while the database is away; Redis's error
 */
export async function drain({ fallback, inbox, quarantine, ...parts }: DrainParts): Promise<number> {
  const { paths, bodyLimitBytes, log } = parts;
  const count = Math.min(mostEntries, Math.max(1, Math.floor(mostBytes / bodyLimitBytes)));
  const append = async ({ id, family, body }: StreamEntry) => {
    try {
      await inbox.append({ id, family, body });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      log.error({ delivery: id, reason: error.message }, 'PostgreSQL refused an acknowledged delivery');
      const errors = [{ path: '', message: error.message }];
      const path = paths[family] ?? family;
      await quarantine.keep({ path, reason: 'refused_by_database', errors, body, acknowledged: true });
    }
  };
  for (const stream of await fallback.streams()) {
    const entries = await fallback.read(stream, count);
    if (entries.length === 0) continue;
    const results = await Promise.allSettled(entries.map(append));
    const moved = entries.filter((_, index) => results[index]!.status === 'fulfilled');
    if (moved.length > 0) await fallback.remove(stream, moved);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return moved.length;
  }
  return 0;
}

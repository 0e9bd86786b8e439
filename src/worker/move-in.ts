import { type Inbox, Refused } from '../inbox/inbox.ts';
import type { Quarantine } from '../inbox/quarantine.ts';
import type { Jobs } from '../queue/jobs.ts';

export interface MoveInParts {
  inbox: Pick<Inbox, 'append'>;
  quarantine: Pick<Quarantine, 'keep'>;
  /** The registered path of each family. */
  paths: Record<string, string>;
}

/**
 * Moves deliveries that waited in the queue into the database. They were acknowledged: one that PostgreSQL
 * refuses is kept in the quarantine.
 *
 * @throws Unavailable while the database is away; what was moved by then is found to be there the next time
 */
export async function moveIn(
  deliveries: Jobs['store']['deliveries'],
  { inbox, quarantine, paths }: MoveInParts,
): Promise<void> {
  const held = deliveries.map(({ json, ...rest }) => ({ ...rest, body: Buffer.from(json) }));
  const results = await Promise.allSettled(held.map((delivery) => inbox.append(delivery)));
  for (const [index, result] of results.entries()) {
    if (result.status === 'fulfilled') continue;
    if (!(result.reason instanceof Refused)) throw result.reason;
    const { family, body } = held[index]!;
    const errors = [{ path: '', message: result.reason.message }];
    await quarantine.keep({ path: paths[family] ?? family, reason: 'refused_by_database', errors, body });
  }
}

import { familiesInFeed } from '../changes/families.ts';
import { logReading } from '../changes/log-reading.ts';
import type { Page } from '../changes/page.ts';
import type { Feed } from '../changes/start-feed.ts';
import type { Log } from '../common/log.ts';
import { pause } from '../common/pause.ts';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import {
  type Destination,
  type Lease,
  noteFailure,
  pauseDestination,
  renewLease,
} from './destination-table.ts';
import { isAccepted, post } from './post.ts';
import { toMessage } from './to-message.ts';

export interface DeliverDependencies {
  db: Db;
  feed: Pick<Feed, 'read'>;
  families: readonly Family[];
  lease: Lease;
  times: {
    /** How long a destination may take to answer. */
    timeoutMs: number;
    /** How often changes are looked for. */
    lookMs: number;
  };
  /** Ends a request in progress. */
  cut: AbortSignal;
  log: Log;
}

/** What was read before is read again before it is sent: it may have been erased meanwhile. */
const freshMs = 500;
const mostPerPage = 100;

const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000];
/** Pauses after the first attempt, the second and so on; after the last of them, which is three days later, it is paused. */
const pausesMs = [
  ...[5 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs, 30 * minuteMs],
  ...[hourMs, 2 * hourMs, 4 * hourMs, 8 * hourMs],
  ...Array<number>(5).fill(12 * hourMs),
];

/**
 * Sends a destination what has changed, one change after the other, until one is not accepted, the signal is aborted, the lease is
 * lost, or it is paused. The cursor follows once changes were accepted, so each is sent at least once, whenever this ends.
 *
 * @throws the database's error, CursorInvalid, CursorUnknown, FeedUnavailable
 */
export async function deliver(
  destination: Destination,
  { db, feed, families, lease, times, cut, log }: DeliverDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { id, isPublic } = destination;
  const businessId = destination.businessId ?? undefined;
  const selected = familiesInFeed(families).filter(({ name }) => destination.families.includes(name));
  let { cursor, attempts } = destination;
  let limit = 1;

  /** An entry of the access log comes before anything personal is sent. */
  const read = async (): Promise<Page> => {
    const query = { after: cursor ?? undefined, families: selected, businessId, isPublic, limit };
    const page = await feed.read(query);
    const selection = { families: destination.families, businessId };
    if (!isPublic) await logReading(db, page, { id: 'destination', name: id }, selection);
    return page;
  };

  for (let delivered = 0; ; ) {
    const renewedAt = performance.now();
    if (!(await renewLease(db, lease, { cursor, delivered })) || signal.aborted) return;
    delivered = 0;
    const { changes, next, more } = await read();
    const readAt = performance.now();
    for (const change of changes) {
      const now = performance.now();
      if (signal.aborted || now - readAt > freshMs || now - renewedAt + times.timeoutMs > lease.leaseMs)
        break;
      const outcome = await post(destination, toMessage(change), times.timeoutMs, cut);
      if (cut.aborted) break;
      if (!isAccepted(outcome)) {
        if (!(await renewLease(db, lease, { cursor, delivered }))) return;
        const about = { destination: id, family: change.family, record: change.key.id };
        log.warn(
          { ...about, attempts: attempts + 1, outcome: outcome.outcome },
          'a webhook was not accepted',
        );
        await noteFailure(db, lease, outcome.outcome, pausesMs[attempts] ?? 0);
        if (outcome.status === 410) await pauseDestination(db, id, 'It answered 410: it wants no more');
        else if (attempts >= pausesMs.length)
          await pauseDestination(db, id, `It did not accept a webhook for three days: ${outcome.outcome}`);
        return;
      }
      delivered += 1;
      attempts = 0;
      ({ cursor } = change);
    }
    if (delivered < changes.length) limit = Math.max(1, delivered);
    else {
      cursor = next;
      limit = Math.min(mostPerPage, limit * 2);
      if (!more) await pause(times.lookMs, signal);
    }
  }
}

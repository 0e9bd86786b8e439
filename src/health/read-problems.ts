import pg from 'pg';
import { adviceOn, describePlace, findPlace } from '../store/damage.ts';
import { isDamaged } from '../store/faults.ts';
import { findLockHolders } from '../store/lock-holders.ts';
import { setAside } from './blocked.ts';
import { destinations } from './destinations.ts';
import { outages } from './outages.ts';
import { type Problem, unreadable } from './problem.ts';
import { judgeLocks, waitingDeliveries } from './processing.ts';
import { notifications, queueLocks } from './queue.ts';
import { reconciliation } from './reconciliation.ts';
import { sessions } from './server.ts';
import { lost, withoutState } from './states.ts';
import { subscriptions } from './subscriptions.ts';
import { userDeletions } from './user-deletions.ts';

/** A timeout, a missing right or table: PostgreSQL works, and one check does not. */
const ofOneCheck = /^(57014|55P03|42...)$/;

const checks: Record<string, (pool: pg.Pool) => Promise<Problem[]>> = {
  'waiting deliveries': waitingDeliveries.read,
  'deliveries that are set aside': setAside.read,
  locks: async (pool) => judgeLocks(await findLockHolders(pool), Date.now()),
  'locks of the queue': queueLocks,
  notifications,
  'old sessions': sessions.read,
  'lost deliveries': lost.read,
  'states of deliveries': withoutState.read,
  'deleted users': userDeletions.read,
  outages: outages.read,
  subscriptions: subscriptions.read,
  reconciliation: reconciliation.read,
  destinations: destinations.read,
};

/** First what fails; the sort is stable. */
export const byUrgency = (problems: readonly Problem[]) =>
  problems.toSorted((a, b) => Number(b.status === 'fail') - Number(a.status === 'fail'));

/**
 * What is wrong with processing, most urgent first. What cannot be read is a problem of its own, and hides no other. Each
 * check takes a second at most.
 *
 * @throws the error of any other kind: then nothing is known
 */
export async function readProblems(pool: pg.Pool): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      problems.push(...(await check(pool)));
    } catch (error) {
      if (isDamaged(error)) {
        problems.push(await damagedPage(pool, name, error));
        continue;
      }
      if (!(error instanceof pg.DatabaseError && ofOneCheck.test(error.code ?? ''))) throw error;
      const detail = `PostgreSQL's error has the code ${error.code}. It may be overloaded, or a right is missing`;
      problems.push(unreadable(name, detail));
    }
  }
  return byUrgency(problems);
}

async function damagedPage(pool: pg.Pool, check: string, error: unknown): Promise<Problem> {
  const place = await findPlace(pool, error).catch(() => undefined);
  if (!place)
    return unreadable(check, "A page of a table or an index is damaged: PostgreSQL's log says which");
  return {
    kind: 'damaged',
    subject: `${place.relation} ${place.block ?? ''}`.trim(),
    status: 'fail',
    title: describePlace(place),
    detail: `What is on the page waits, the rest goes on. ${adviceOn(place)}`,
  };
}

import { hostname } from 'node:os';
import type { DatabaseClock } from '../receiver/store/clock.ts';
import type { Problem } from './problem.ts';

export const maxDifferenceS = 60;

/** Everything else that is refused by time is refused by both clocks. */
export const effectOfWrongClock =
  'webhooks may be refused, and signed callbacks after a start in an outage of PostgreSQL';

/** The difference between the clocks of this process and of PostgreSQL, where it is more than a minute. */
export async function findClockDifference(
  clock: Pick<DatabaseClock, 'current' | 'aheadMs'>,
): Promise<Problem[]> {
  await clock.current();
  const ms = clock.aheadMs() ?? 0;
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds <= maxDifferenceS) return [];
  return [
    {
      kind: 'clock',
      subject: hostname(),
      status: 'fail',
      title: `The clocks of ${hostname()} and of PostgreSQL differ`,
      detail: `PostgreSQL's is ${seconds} s ${ms > 0 ? 'ahead' : 'behind'}: ${effectOfWrongClock}. Synchronize both, as with chrony`,
    },
  ];
}

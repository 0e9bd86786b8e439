import { type RawBuilder, sql } from 'kysely';
import type { Intake } from '../intake/intake.ts';
import type { Db } from '../store/tables.ts';
import type { Window } from './days.ts';
import type { Platform } from './platform.ts';

export interface FollowUpContext {
  db: Db;
  intake: Pick<Intake, 'store'>;
  platform: Pick<Platform, 'payment' | 'prescription'>;
  business: string;
  /** Ends it between two requests; the next run continues. */
  signal: AbortSignal | undefined;
}

/** How many are read at once. */
export const mostDue = 500;

/** A kind of record that is asked for one by one. Each answer is noted, so that a stop loses nothing. */
export interface FollowUp<Due> {
  /** Those that are due, at most `mostDue`. */
  findDue: (context: FollowUpContext, days: Window) => Promise<Due[]>;
  ask: (context: FollowUpContext, due: Due) => Promise<'found' | 'unknown'>;
  /** It could not be read: others come first. */
  postpone: (context: FollowUpContext, due: Due) => Promise<void>;
}

/** SQL: an hour later, or as much later as it has been asked for, at most a day; null after some days: it is given up. */
export const againAfter = (firstAskedAt: RawBuilder<unknown>, keepDays: number) => sql`
  case when now() - ${firstAskedAt} < ${keepDays} * interval '1 day'
  then now() + least(greatest(now() - ${firstAskedAt}, interval '1 hour'), interval '1 day') end`;

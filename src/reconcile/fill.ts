import { setTimeout as sleep } from 'node:timers/promises';
import type { Intake } from '../intake/intake.ts';
import type { Db } from '../store/tables.ts';
import { type Compared, compare, type Outcome } from './compare.ts';
import type { Reader, Reading } from './reader.ts';
import { supply } from './supply.ts';

/**
 * Numbers of appointments. `filled`: of those that were missing or differ, stored as deliveries. `unlisted`: asked for one by
 * one, because the platform did not list them; `unknown`: of these, the platform does not know.
 */
export type Counts = Record<Outcome | 'filled' | 'unlisted' | 'unknown', number>;

export const noCounts: Readonly<Counts> = {
  agrees: 0,
  missing: 0,
  differs: 0,
  busy: 0,
  erased: 0,
  filled: 0,
  unlisted: 0,
  unknown: 0,
};

export interface FillOptions {
  db: Db;
  intake: Pick<Intake, 'store'>;
  reader: Reader;
  business: string;
  /** Nothing is stored. */
  dryRun: boolean;
  signal: AbortSignal | undefined;
  /** Before an appointment that a callback is changing is asked for again, in milliseconds: once for each of these. */
  pausesMs: readonly number[];
}

/**
 * Compares what was read with its rows, and fills what is missing or differs. What a callback is changing is not overwritten: it is
 * asked for again, and what stays `busy` is left to the next pass.
 *
 * @param day the first one that was asked for
 */
export async function compareAndFill(options: FillOptions, reading: Reading, day: string): Promise<Counts> {
  const { reader, signal, pausesMs } = options;
  const counts = { ...noCounts };
  let busy = await fill(options, reading, day, counts);
  for (const pauseMs of pausesMs) {
    if (busy.length === 0) break;
    await sleep(pauseMs, undefined, { signal });
    const again = busy;
    busy = [];
    for (const { id } of again) busy.push(...(await fill(options, await reader.one(id), day, counts)));
  }
  counts.busy = busy.length;
  return counts;
}

/** @returns those that are busy */
async function fill(
  { db, intake, business, dryRun }: FillOptions,
  reading: Reading,
  day: string,
  counts: Counts,
) {
  const compared = reading.appointments.length > 0 ? await compare(db, business, day, reading) : [];
  const found: Compared[] = [];
  const busy: Compared[] = [];
  for (const one of compared) {
    if (one.outcome === 'busy') {
      busy.push(one);
      continue;
    }
    counts[one.outcome] += 1;
    if (one.outcome === 'missing' || one.outcome === 'differs') found.push(one);
  }
  if (!dryRun) counts.filled += await supply(db, intake, business, found, reading.askedAt);
  return busy;
}

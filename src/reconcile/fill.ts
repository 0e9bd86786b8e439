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
  /**
   * Milliseconds: before what was found is compared again, because its callback may be on its way; then before each time that
   * an appointment which a callback is changing is asked for again.
   */
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
  const [arrivalMs = 0, ...otherMs] = pausesMs;
  const counts = { ...noCounts };
  let busy = await fill(options, reading, day, counts, arrivalMs);
  for (const pauseMs of otherMs) {
    if (busy.length === 0) break;
    await sleep(pauseMs, undefined, { signal });
    const again = busy;
    busy = [];
    for (const { id } of again) busy.push(...(await fill(options, await reader.one(id), day, counts)));
  }
  counts.busy = busy.length;
  return counts;
}

const isFound = ({ outcome }: Compared) => outcome === 'missing' || outcome === 'differs';

/** @returns those that are busy */
async function fill(options: FillOptions, reading: Reading, day: string, counts: Counts, arrivalMs = 0) {
  const { db, intake, business, dryRun, signal } = options;
  if (reading.appointments.length === 0) return [];
  let compared = await compare(db, business, day, reading);
  if (arrivalMs > 0 && compared.some(isFound)) {
    await sleep(arrivalMs, undefined, { signal });
    compared = await compare(db, business, day, reading);
  }
  for (const { outcome } of compared) if (outcome !== 'busy') counts[outcome] += 1;
  if (!dryRun) counts.filled += await supply(db, intake, business, compared.filter(isFound), reading.askedAt);
  return compared.filter(({ outcome }) => outcome === 'busy');
}

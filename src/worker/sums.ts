import type { Log } from '../common/log.ts';
import type { Leases } from '../store/lease.ts';
import { findOutdated, kindsOfSums, leaseOfSums, updateSums } from '../store/reporting/daily-sums.ts';
import { recordWrongSums, sampleWrongSums } from '../store/reporting/wrong-sums.ts';
import type { Db } from '../store/tables.ts';

const pauseMs = 5_000;
/** An update takes at most a fiftieth of the time. */
const pausesPerUpdate = 50;
const sampledDays = 100;

/** Returns a function that makes outdated sums of reports again when it is time to. One process at a time does so. */
export function createSumsUpdate(db: Db, leases: Leases, signal: AbortSignal): () => Promise<void> {
  let next = 0;
  return async () => {
    if (performance.now() < next) return;
    const began = performance.now();
    for (const sums of await findOutdated(db)) {
      for (let goesOn = true; goesOn && !signal.aborted; ) {
        const updated = await leases.run(leaseOfSums(sums), ({ fence }) => updateSums(db, sums, fence), {
          keep: true,
        });
        goesOn = updated?.hasMore === true && !updated.isBusy;
      }
    }
    const ended = performance.now();
    next = ended + Math.max(pauseMs, pausesPerUpdate * (ended - began));
  };
}

/** Compares the kept sums of some random days with their rows. A difference is recorded, and the sums are made again. */
export async function checkSums(db: Db, { log }: { log: Log }): Promise<void> {
  for (const sums of kindsOfSums) {
    const days = await sampleWrongSums(db, sums, sampledDays);
    if (days.length === 0) continue;
    await recordWrongSums(db, sums, days);
    log.error({ sums, count: days.length, days: days.slice(0, 5) }, 'sums of reports were wrong');
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../common/log.ts';
import type { Family } from '../families/index.ts';
import { findDuePass, runDuePass } from '../privacy/refold-pass.ts';
import type { Leases } from '../store/lease.ts';
import type { Db } from '../store/tables.ts';

/** A pass takes about a fifth of the time of a connection, and tells the feed of changes of so many records a second. */
const pausesPerStep = 4;
const maxChangedPerS = 100;

interface Dependencies {
  db: Db;
  families: readonly Family[];
  leases: Leases;
  log: Log;
}

/**
 * Returns a function that makes rows anew which a former version wrote, where a pass is due. It ends when none is, or when
 * another process does it.
 *
 * @param signal ends it between two steps
 */
export function createRefolds(
  { db, families, leases, log }: Dependencies,
  signal: AbortSignal,
): () => Promise<void> {
  const next = async () => {
    const due = await findDuePass(db);
    return due && runDuePass(db, families, due);
  };
  return async () => {
    let changed = 0;
    while (!signal.aborted) {
      const began = performance.now();
      // Without the lease: who only looks writes nothing.
      if (!(await findDuePass(db))) return;
      const step = await leases.run('fields', next, { keep: true });
      if (!step) return;
      changed += step.changed;
      if (step.isComplete) {
        if (changed > 0)
          log.info({ changed }, 'rows of a former version were made anew from their callbacks');
        return;
      }
      const pauseMs = Math.max(
        pausesPerStep * (performance.now() - began),
        (step.changed / maxChangedPerS) * 1000,
      );
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  };
}

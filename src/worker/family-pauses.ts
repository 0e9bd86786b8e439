import type { Applied } from '../apply/apply.ts';
import type { Log } from '../common/log.ts';
import type { Family } from '../families/index.ts';
import { isLockTimeout } from '../store/faults.ts';
import type { LockHolder } from '../store/lock-holders.ts';

const minMs = 1_000;
const maxMs = 30_000;
// A prepared statement takes 1.5 to 2.6 MB of each connection.
const maxCombinations = 16;

export type FamilyPauses = ReturnType<typeof createFamilyPauses>;

/**
 * The families whose tables cannot be written to although PostgreSQL is available: a table is locked, lacks a column, or
 * has a failing trigger. Their deliveries stay `received`, and one job at a time retries them with exponential backoff.
 * So a broken table costs few attempts and delays no other family.
 *
 * @param findHolders of the locks that a family's table waits for
 */
export function createFamilyPauses(
  families: readonly Family[],
  log: Log,
  findHolders?: () => Promise<LockHolder[] | undefined>,
) {
  const pauses = new Map<string, { until: number; ms: number }>();
  const combinations = new Set<string>();

  /** Each combination of families has a prepared statement, which takes memory: beyond some, all are applied together. */
  const isPrepared = (some: readonly Family[]) => {
    const combination = some.map(({ name }) => name).join();
    if (combinations.size < maxCombinations) combinations.add(combination);
    return combinations.has(combination);
  };

  const report = async (family: string, err: unknown) => {
    const lockedBy = isLockTimeout(err) ? await findHolders?.() : undefined;
    log.error({ err, family, lockedBy }, 'family table not writable');
  };

  return {
    /**
     * The families to apply now, in groups that are applied one after another. A family whose pause is over is a group
     * of its own, in one job only.
     *
     * @param names those of the job; undefined: not known
     */
    take: (names?: readonly string[]): Family[][] => {
      const now = performance.now();
      const usable: Family[] = [];
      const retried: Family[][] = [];
      const wanted = families.filter(({ name }) => !names || names.includes(name));
      for (const family of isPrepared(wanted) ? wanted : families) {
        const pause = pauses.get(family.name);
        if (!pause) usable.push(family);
        else if (pause.until <= now) {
          pause.until = now + pause.ms;
          retried.push([family]);
        }
      }
      return usable.length > 0 ? [usable, ...retried] : retried;
    },

    /** The names of the families that can be applied or retried now. */
    due: (): string[] => {
      const now = performance.now();
      return families.map(({ name }) => name).filter((name) => (pauses.get(name)?.until ?? now) <= now);
    },

    /** Updates the pauses after a group was applied. */
    update: ([first]: readonly Family[], { applied, broken }: Pick<Applied, 'applied' | 'broken'>): void => {
      for (const { family, error } of broken) {
        const pause = pauses.get(family);
        const ms = pause && applied === 0 ? Math.min(pause.ms * 2, maxMs) : minMs;
        pauses.set(family, { ms, until: performance.now() + ms });
        if (!pause) void report(family, error);
      }
      if (broken.length === 0 && applied > 0 && pauses.delete(first!.name)) {
        log.warn({ family: first!.name }, 'family table writable again');
      }
    },
  };
}

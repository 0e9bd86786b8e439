import type { Applied } from '../apply/apply.ts';
import type { Log } from '../common/log.ts';
import type { Family } from '../families/index.ts';
import { isLockTimeout } from '../store/faults.ts';
import type { LockHolder } from '../store/lock-holders.ts';

const minMs = 1_000;
const maxMs = 30_000;
// A prepared statement takes 1.5 to 2.6 MB of each connection.
const maxCombinations = 16;

/**
 * The families whose tables cannot be written to although PostgreSQL is available: a table is locked, lacks a column, or
 * has a failing trigger. Their deliveries stay `received`, and one job at a time retries them with exponential backoff.
 * So a broken table costs few attempts and delays no other family.
 */
export class FamilyPauses {
  private readonly families: readonly Family[];
  private readonly log: Log;
  private readonly findHolders: (() => Promise<LockHolder[] | undefined>) | undefined;
  private readonly pauses = new Map<string, { until: number; ms: number }>();
  private readonly combinations = new Set<string>();

  /** @param findHolders of the locks that a family's table waits for */
  constructor(families: readonly Family[], log: Log, findHolders?: () => Promise<LockHolder[] | undefined>) {
    this.families = families;
    this.log = log;
    this.findHolders = findHolders;
  }

  /**
   * The families to apply now, in groups that are applied one after another. A family whose pause is over is a group
   * of its own, in one job only.
   *
   * @param names those of the job; undefined: not known
   */
  take(names?: readonly string[]): Family[][] {
    const now = performance.now();
    const usable: Family[] = [];
    const retried: Family[][] = [];
    const wanted = this.families.filter(({ name }) => !names || names.includes(name));
    for (const family of this.isPrepared(wanted) ? wanted : this.families) {
      const pause = this.pauses.get(family.name);
      if (!pause) usable.push(family);
      else if (pause.until <= now) {
        pause.until = now + pause.ms;
        retried.push([family]);
      }
    }
    return usable.length > 0 ? [usable, ...retried] : retried;
  }

  /** Each combination of families has a prepared statement, which takes memory: beyond some, all are applied together. */
  private isPrepared(families: readonly Family[]): boolean {
    const combination = families.map(({ name }) => name).join();
    if (this.combinations.size < maxCombinations) this.combinations.add(combination);
    return this.combinations.has(combination);
  }

  /** The names of the families that can be applied or retried now. */
  due(): string[] {
    const now = performance.now();
    return this.families
      .map(({ name }) => name)
      .filter((name) => (this.pauses.get(name)?.until ?? now) <= now);
  }

  private async report(family: string, err: unknown): Promise<void> {
    const lockedBy = isLockTimeout(err) ? await this.findHolders?.() : undefined;
    this.log.error({ err, family, lockedBy }, 'family table not writable');
  }

  /** Updates the pauses after a group was applied. */
  update(group: readonly Family[], { applied, broken }: Pick<Applied, 'applied' | 'broken'>): void {
    for (const { family, error } of broken) {
      const pause = this.pauses.get(family);
      const ms = pause ? Math.min(pause.ms * 2, maxMs) : minMs;
      this.pauses.set(family, { ms, until: performance.now() + ms });
      if (!pause) void this.report(family, error);
    }
    const [first] = group;
    if (broken.length === 0 && applied > 0 && this.pauses.delete(first!.name)) {
      this.log.warn({ family: first!.name }, 'family table writable again');
    }
  }
}

import type { Applied } from '../apply/apply.ts';
import type { Family } from '../families/index.ts';
import type { Log } from '../log.ts';

interface Pause {
  until: number;
  ms: number;
}

const shortestMs = 1_000;
const longestMs = 30_000;

/**
 * The families whose tables cannot be written to, though PostgreSQL works: a table is locked, lacks a column, or
 * has a trigger that fails. Their deliveries stay `received`, and are tried again after a pause that grows, by one
 * job at a time. So one broken table costs a try now and then, and holds up no other family.
 */
export class FamilyPauses {
  private readonly families: readonly Family[];
  private readonly log: Log;
  private readonly pauses = new Map<string, Pause>();

  constructor(families: readonly Family[], log: Log) {
    this.families = families;
    this.log = log;
  }

  /**
   * The families to apply now, in groups that are applied one after the other. A family whose pause is over is a
   * group of its own, for the first job that asks.
   */
  take(): Family[][] {
    const now = performance.now();
    const usable: Family[] = [];
    const onTrial: Family[][] = [];
    for (const family of this.families) {
      const pause = this.pauses.get(family.name);
      if (!pause) usable.push(family);
      else if (pause.until <= now) {
        pause.until = now + pause.ms;
        onTrial.push([family]);
      }
    }
    return usable.length > 0 ? [usable, ...onTrial] : onTrial;
  }

  /** The names of the families whose deliveries are worth looking for. */
  due(): string[] {
    const now = performance.now();
    return this.families
      .map(({ name }) => name)
      .filter((name) => (this.pauses.get(name)?.until ?? now) <= now);
  }

  /** Notes what became of a group. */
  note(group: readonly Family[], { applied, broken }: Pick<Applied, 'applied' | 'broken'>): void {
    for (const { family, error } of broken) {
      const pause = this.pauses.get(family);
      const ms = pause ? Math.min(pause.ms * 2, longestMs) : shortestMs;
      this.pauses.set(family, { ms, until: performance.now() + ms });
      if (!pause) this.log.error({ err: error, family }, 'the table of a family cannot be written to');
    }
    const [first] = group;
    if (broken.length === 0 && applied > 0 && this.pauses.delete(first!.name)) {
      this.log.warn({ family: first!.name }, 'the table of a family can be written to again');
    }
  }
}

import { hostname } from 'node:os';
import type { Problem } from './problem.ts';

const minuteMs = 60_000;
const minutes = 5;
const maxPerMinute = 20;
const maxReasons = 3;

/**
 * Counts the rejected callbacks of this process in memory, by the name of the error: so each receiver reports its own, also in
 * an outage of PostgreSQL. A request to another path does not count: anybody may guess paths.
 */
export function createRejections() {
  let counts: { minute: number; reason: string; count: number }[] = [];
  const now = () => Math.floor(performance.now() / minuteMs);
  return {
    count: (reason: string): void => {
      const minute = now();
      const counted = counts.find((one) => one.minute === minute && one.reason === reason);
      if (counted) counted.count += 1;
      else counts = [...counts.filter((one) => one.minute > minute - minutes), { minute, reason, count: 1 }];
    },

    /** The problem that more than 20 callbacks a minute were rejected in the last five minutes; or none. */
    find: (): Problem[] => {
      const recent = new Map<string, number>();
      for (const { minute, reason, count } of counts) {
        if (minute > now() - minutes) recent.set(reason, (recent.get(reason) ?? 0) + count);
      }
      const reasons = [...recent].toSorted(([, a], [, b]) => b - a);
      const perMinute = reasons.reduce((sum, [, count]) => sum + count, 0) / minutes;
      if (perMinute <= maxPerMinute) return [];
      const named = reasons.slice(0, maxReasons).map(([reason, count]) => `${reason}: ${count}`);
      return [
        {
          kind: 'rejections',
          subject: hostname(),
          status: 'warn',
          title: 'Many callbacks are rejected',
          detail:
            `${Math.round(perMinute)} per minute; in the last ${minutes} minutes ${named.join(', ')}. ` +
            'A key or an address of the sender may have changed, or somebody else sends requests',
        },
      ];
    },
  };
}

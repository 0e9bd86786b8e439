import { setTimeout as sleep } from 'node:timers/promises';
import type { Window } from './days.ts';
import type { FollowUp, FollowUpContext } from './follow-up-kind.ts';
import { payments } from './payments.ts';
import { PlatformUnreadable } from './platform.ts';
import { prescriptions } from './prescriptions.ts';

const kinds = { prescriptions, payments };

export { mostDue } from './follow-up-kind.ts';
export type FollowUpKind = keyof typeof kinds;

/** `unreadable`: postponed, because the platform's answer was an error. */
export type FollowUpCounts = Record<'found' | 'unknown' | 'unreadable', number>;

export interface FollowUpOptions extends FollowUpContext, Window {
  with: readonly FollowUpKind[];
  perMinute: number;
  /** Ends after so many requests. Default: when nothing is due. */
  most?: number;
  /** Called after each request. */
  onProgress?: (kind: FollowUpKind) => void;
}

const mostFailures = 3;

/**
 * Asks the platform for what is due, until nothing is. What it does not know is asked for again after growing pauses, for some
 * days. It may be interrupted and repeated at any time; one process at a time runs one.
 *
 * @throws PlatformUnreadable where several answers in a row are errors; the signal's reason; Unavailable; the database's error
 */
export async function followUp(
  options: FollowUpOptions,
): Promise<Partial<Record<FollowUpKind, FollowUpCounts>>> {
  const { with: wanted, perMinute, most = Number.POSITIVE_INFINITY, signal, onProgress } = options;
  const all: Partial<Record<FollowUpKind, FollowUpCounts>> = {};
  let failures = 0;
  let asked = 0;
  const run = async <Due>(kind: FollowUpKind, { findDue, ask, postpone }: FollowUp<Due>) => {
    const counts: FollowUpCounts = { found: 0, unknown: 0, unreadable: 0 };
    all[kind] = counts;
    for (;;) {
      const due = await findDue(options, options);
      if (due.length === 0) return;
      for (const one of due) {
        if (asked++ >= most) return;
        const pause = sleep(60_000 / perMinute, undefined, { signal });
        // It may end before it is waited for.
        pause.catch(() => {});
        signal?.throwIfAborted();
        try {
          counts[await ask(options, one)] += 1;
          failures = 0;
        } catch (error) {
          if (!(error instanceof PlatformUnreadable) || ++failures === mostFailures) throw error;
          await postpone(options, one);
          counts.unreadable += 1;
        }
        onProgress?.(kind);
        await pause;
      }
    }
  };
  for (const kind of wanted) await run(kind, kinds[kind] as FollowUp<unknown>);
  return all;
}

/** How many would be asked for at once, at most `mostDue`. */
export async function countDue(options: FollowUpOptions): Promise<Partial<Record<FollowUpKind, number>>> {
  const all: Partial<Record<FollowUpKind, number>> = {};
  for (const kind of options.with) all[kind] = (await kinds[kind].findDue(options, options)).length;
  return all;
}

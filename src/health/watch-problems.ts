import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { Problem } from './problem.ts';
import { byUrgency, readProblems } from './read-problems.ts';

const keepMs = 5_000;
const everyMs = 30_000;
/** How long a reading may take, where a server hangs. */
const timeoutMs = 8_000;
/** While PostgreSQL is unavailable it may still tell why, but nobody waits long for it. */
const outageTimeoutMs = 900;

const keyOf = ({ kind, subject }: Problem) => `${kind} ${subject}`;

/**
 * Reads what is wrong with processing for all parts of a process, every few seconds at most, and logs what begins and
 * ends.
 *
 * @param circuit of PostgreSQL, whose outages it logs itself
 * @param findOwn finds what this process itself knows
 */
export function watchProblems(
  pool: pg.Pool,
  circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>,
  log: Log,
  findOwn: () => Promise<Problem[]>,
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<readonly Problem[]> | undefined;

  let readInOutage = false;

  const readAll = async () => {
    const [problems, own] = await Promise.all([readProblems(pool), findOwn()]);
    return byUrgency([...own, ...problems]);
  };

  /** @throws the driver's error, or that of the timeout: then nothing is known */
  const read = async (): Promise<readonly Problem[]> => {
    const { isOpen } = circuit;
    if (!reading || isOpen !== readInOutage || performance.now() - readAt > keepMs) {
      [readAt, readInOutage] = [performance.now(), isOpen];
      const current = withTimeout(isOpen ? outageTimeoutMs : timeoutMs, readAll());
      reading = current;
      current.catch(() => {
        // In an outage a failure is kept, too: connections that hang must not pile up.
        if (reading === current && !isOpen) reading = undefined;
      });
    }
    return reading;
  };

  let known = new Map<string, Problem>();
  const logChanges = async () => {
    // What the fallback store is, it logs itself, also while PostgreSQL is unavailable.
    const all = (await read()).filter(({ kind }) => kind !== 'fallback');
    const current = new Map(all.map((problem) => [keyOf(problem), problem]));
    if (signal.aborted) return;
    for (const [key, { kind, subject, title, detail, status }] of current) {
      if (!known.has(key))
        log[status === 'fail' ? 'error' : 'warn']({ problem: kind, subject, detail }, title);
    }
    for (const [key, { kind, subject, title }] of known) {
      if (!current.has(key)) log.info({ problem: kind, subject }, `ended: ${title}`);
    }
    known = current;
  };
  void (async () => {
    while (!signal.aborted) {
      await logChanges().catch((error) => signal.aborted || circuit.probeAfter(error));
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
    }
  })();

  return {
    read,
    /** Does not wait for a server that hangs. */
    stop: async () => stopping.abort(),
  };
}

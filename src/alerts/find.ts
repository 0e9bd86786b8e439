import type { Problem } from '../health/problem.ts';
import type { Circuit } from '../store/circuit.ts';
import type { Db } from '../store/tables.ts';
import type { Condition } from './alert.ts';

/** The sources of the checks. */
export interface Sources {
  db: Db;
  /** The circuit breaker of PostgreSQL. */
  circuit: Pick<Circuit, 'isOpen'>;
  /** The circuit breaker of the queue's store: Redis or PostgreSQL. */
  queueCircuit: Pick<Circuit, 'isOpen'>;
  /** Another database with this one's identity on the same Redis, as it describes itself. */
  rival: () => string | undefined;
  /** More rejected requests than these are an alert. */
  rejectionsPerMinute: number;
  /** The newest head of the access log that this process has seen, where the log does not contain it any more. */
  lostHead: () => Promise<{ entry: bigint; hash: string } | undefined>;
  /** Problems of processing. */
  problems: () => Promise<readonly Problem[]>;
  /** Milliseconds since this worker's last complete pass of the retention; undefined: RETENTION is not set. */
  sinceRetentionMs: () => number | undefined;
}

type Found = Omit<Condition, 'name'>;

/** One kind of alert. Its texts hold no personal data, and no message of PostgreSQL: that may quote values. */
export interface Definition {
  name: string;
  /** The outage of a store: a short one is not sent. */
  isOutage?: true;
  /** Checked in every tenth pass of a process only. */
  isSlow?: true;
  /** Only a worker knows. */
  ofWorker?: true;
  /** @throws the database's error */
  find: (sources: Sources) => Promise<Found[]> | Found[];
  /** The problem: the message of the end has no more. */
  title: (condition: Condition) => string;
  /** The figures, and what to do. */
  explain: (condition: Condition) => string;
}

const passesPerSlowCheck = 10;

/**
 * Creates a function that runs all checks. A check that fails hides no other.
 *
 * @param onError called with the error of a check
 * @returns the conditions, and the names that could be checked
 */
export function createFind(
  definitions: readonly Definition[],
  sources: Sources,
  onError: (error: unknown) => Promise<void>,
) {
  let pass = 0;
  return async () => {
    const checked = new Set<string>();
    const conditions: Condition[] = [];
    for (const { name, isSlow, find } of definitions) {
      if (isSlow && pass % passesPerSlowCheck > 0) continue;
      try {
        conditions.push(...(await find(sources)).map((found) => ({ name, ...found })));
        checked.add(name);
      } catch (error) {
        await onError(error);
      }
    }
    pass += 1;
    return { conditions, checked };
  };
}

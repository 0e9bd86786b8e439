import type { Problem } from '../health/problem.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { Db } from '../store/tables.ts';
import type { Condition } from './alert.ts';

export interface Sources {
  db: Db;
  circuit: Pick<Circuit, 'isOpen'>;
  /** The circuit breaker of the queue's store: Redis or PostgreSQL. */
  queueCircuit: Pick<Circuit, 'isOpen'>;
  /** The fallback store; undefined: there is none. */
  fallback?: { readonly state: { acknowledges: boolean; detail: string } | undefined } | undefined;
  /** Another database with this one's identity on the same Redis, as it describes itself. */
  rival: () => string | undefined;
  /** The newest head of the access log that this process has seen, where the log does not contain it any more. */
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
  find: (sources: Sources) => Promise<Found[]> | Found[];
  /** The problem: the message of the end has no more. */
  title: (condition: Condition) => string;
  /** The figures, and what to do. */
  explain: (condition: Condition) => string;
}

const passesPerSlowCheck = 10;

/** Creates a function that runs all checks, and tells which it could run: one that fails hides no other. */
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

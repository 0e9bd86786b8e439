import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import type { Counts } from '../counts.ts';
import type { Actor } from '../log/access-log.ts';

/** The name of a policy, as in `Retention`, or `erased`; and the number of rows that a step deleted. */
export type Step = [policy: string, deleted: Counts];

/** The common part of the policies. */
export interface Pass {
  db: Db;
  families: readonly Family[];
  /** By policy: what is older goes. */
  cutoffs: Readonly<Record<string, Date>>;
  /** Nothing changes. */
  dryRun: boolean;
  actor: Actor;
  /** Runs a step in a transaction of its own; a dry run rolls it back. */
  inTransaction: <T>(run: (tx: Db) => Promise<T>) => Promise<T>;
}

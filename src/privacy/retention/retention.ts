import { sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Fence } from '../../store/lease.ts';
import type { Db } from '../../store/tables.ts';
import { withPlanForAnySize } from '../../store/transactions.ts';
import { add, type Counts, sum } from '../counts.ts';
import { type Actor, logAccess } from '../log/access-log.ts';
import { destroyErased } from './destroy.ts';
import { deleteExpired } from './expired-deliveries.ts';
import { deleteOldEntries, deleteQuarantined } from './expired-logs.ts';
import type { Pass, Step } from './policy.ts';

/** Retention periods in milliseconds: by family name, `quarantine`, `access_log`. */
export type Retention = Readonly<Record<string, number>>;

export interface PolicyOutcome {
  policy: string;
  cutoff: Date;
  deleted: Counts;
}

export interface RetentionOptions {
  actor: Actor;
  /** Counts what would go; nothing changes. */
  dryRun?: boolean;
  /** Called after each step that deleted something. */
  onStep?: (policy: string, rows: number) => void;
  /** Called after each step, with the milliseconds that it took; its error ends the pass. */
  pause?: (ms: number) => Promise<unknown>;
  /** The end of each step that is committed. */
  fence?: Fence;
}

/**
 * Applies retention, and destroys erased data that is due. Each step is a short transaction that
 * skips deliveries that are being applied again; the next pass finds them. A policy that fails stops no other. What was
 * deleted is an entry of the access log, also where the pass does not end.
 *
 * @returns what each policy deleted, or would delete
 * @throws the error of the database, once the other policies have run; an AggregateError of several; the error of `pause`
 */
export async function runRetention(
  db: Db,
  families: readonly Family[],
  retention: Retention,
  { actor, dryRun = false, onStep, pause, fence }: RetentionOptions,
): Promise<PolicyOutcome[]> {
  const cutoffs = await readCutoffs(db, retention);
  const outcomes = Object.entries(cutoffs).map(([policy, cutoff]) => ({
    policy,
    cutoff,
    deleted: {} as Counts,
  }));
  const inTransaction: Pass['inTransaction'] = (run) =>
    withPlanForAnySize(
      db,
      async (tx) => {
        const result = await run(tx);
        await fence?.(tx);
        return result;
      },
      { dryRun },
    );
  const pass: Pass = { db, families, cutoffs, dryRun, actor, inTransaction };
  const record = (name: string, counts: Counts) => {
    const rows = add(outcomes.find((outcome) => outcome.policy === name)!.deleted, counts);
    if (rows > 0) onStep?.(name, rows);
  };
  const errors: unknown[] = [];
  try {
    for (const policy of policies) {
      const error = await runPolicy(policy(pass), record, pause);
      if (error) errors.push(error);
    }
  } finally {
    if (!dryRun) await logDeleted(db, actor, outcomes);
  }
  if (errors.length > 1)
    throw new AggregateError(errors, `${errors.length} policies of the retention failed`, {
      cause: errors[0],
    });
  if (errors.length > 0) throw errors[0];
  return outcomes;
}

/** The destruction of what is due comes first. */
const policies = [destroyErased, deleteExpired, deleteQuarantined, deleteOldEntries];

/** Runs the steps of a policy. @returns the error of a step, which stops no other policy @throws that of `pause` */
async function runPolicy(
  steps: AsyncGenerator<Step>,
  record: (...step: Step) => void,
  pause: RetentionOptions['pause'],
): Promise<unknown> {
  try {
    for (;;) {
      const began = performance.now();
      const step = await steps.next().catch((error: unknown) => ({ error }));
      if ('error' in step) return step.error;
      if (step.done) return undefined;
      record(...step.value);
      await pause?.(performance.now() - began);
    }
  } finally {
    await steps.return(undefined);
  }
}

/** The pause after a step, so that callbacks keep coming: three quarters of the step, which takes longer under load. */
export const pauseFor = (stepMs: number) => Math.max(20, stepMs * 0.75);

/** Whole milliseconds by the database's clock. Ids of deliveries do not tell times before 1970 apart. */
async function readCutoffs(db: Db, retention: Retention): Promise<Record<string, Date>> {
  const { rows } = await sql<{ policy: string; cutoff: Date }>`
    with moment as (
      select policy, to_timestamp(greatest(0, trunc(extract(epoch from now()) * 1000 - ms) / 1000)) as at
      from unnest(${Object.keys(retention)}::text[], ${Object.values(retention)}::numeric[]) as kept(policy, ms)
    )
    -- The trigger of the log counts calendar years.
    select policy, case policy when 'access_log' then least(at, now() - interval '1 year') else at end as cutoff
    from moment
    union all
    select 'erased', now()`.execute(db);
  return Object.fromEntries(rows.map(({ policy, cutoff }) => [policy, cutoff]));
}

/** The destruction of erased data has an entry of its own. */
async function logDeleted(db: Db, actor: Actor, outcomes: readonly PolicyOutcome[]): Promise<void> {
  const logged = outcomes.filter(({ policy, deleted }) => policy !== 'erased' && sum(deleted) > 0);
  if (logged.length === 0) return;
  const filter = Object.fromEntries(
    logged.map(({ policy, cutoff, deleted }) => [policy, { before: cutoff.toISOString(), deleted }]),
  );
  const rows = logged.reduce((total, { deleted }) => total + sum(deleted), 0);
  await logAccess(db, { actor, action: 'retention', filter, rows });
}

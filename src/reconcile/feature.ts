import { dayMs } from '../common/days.ts';
import type { Check, Core, Feature, Task } from '../receiver/feature.ts';
import { addReconcileCommands } from './commands.ts';
import { lastDays, openClient, runPass } from './pass.ts';

const maxAgeMs = 2 * dayMs;
const worker = 'worker';
/** Missing appointments, more than a lost callback or two. */
const manyMissing = { min: 3, ratio: 0.01 };

export const reconciliation: Feature = {
  name: 'reconciliation',
  commands: addReconcileCommands,
  tasks: (core) => (core.config.reconcile ? tasksOf(core, core.config.reconcile.days) : []),
  checks: async (core) => (core.config.reconcile ? [await checkPasses(core)] : []),
};

function tasksOf(core: Core, days: number): Task[] {
  const client = openClient(core);
  const run = async (signal: AbortSignal) => {
    const range = lastDays(core, days);
    const { counts } = await runPass(core, client, { ...range, actor: worker, signal });
    core.log.info({ ...range, ...counts }, 'the appointments were compared with the platform');
  };
  return [{ name: 'reconciliation', everyMs: dayMs, run }];
}

async function checkPasses({ db }: Core): Promise<Check> {
  const last = await db
    .selectFrom('receiver.reconciliations')
    .selectAll()
    .where('actor', '=', worker)
    .where('ended_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const since = last?.ended_at ?? undefined;
  const check = { name: 'reconciliation', status: 'warn', since } as const;
  const todo = 'receiver reconcile runs it now; the log of the workers says more';
  if (last?.error) return { ...check, title: 'The reconciliation has failed', detail: last.error, todo };
  if (!last || !since || Date.now() - since.getTime() > maxAgeMs) {
    const detail = `The last one was completed: ${since?.toISOString() ?? 'never'}`;
    return { ...check, title: 'The reconciliation is overdue', detail, todo };
  }
  const { compared = 0, missing = 0, differs = 0, stored = 0 } = last.counts;
  const detail = `Of ${compared} appointments, ${missing} were missing and ${differs} differed; ${stored} are stored`;
  if (missing < manyMissing.min || missing < compared * manyMissing.ratio)
    return { ...check, status: 'ok', title: 'Appointments are those of the platform', detail };
  return {
    ...check,
    title: 'Callbacks did not arrive',
    detail,
    todo: 'Compare with receiver subscriptions list. Receipts cannot be compared: ask the platform to resend them',
  };
}

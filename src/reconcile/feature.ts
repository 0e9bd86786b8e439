import { dayMs } from '../common/days.ts';
import type { Check, Core, Feature, Task } from '../receiver/feature.ts';
import { addReconcileCommands } from './commands.ts';
import { lastDays, openClient, runPass } from './pass.ts';

const maxAgeMs = 2 * dayMs;
const retryMs = dayMs / 48;
const worker = 'worker';
/** Failed ones before a complete one. */
const maxPasses = 100;
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
  return [{ name: 'reconciliation', everyMs: dayMs, retryMs, run }];
}

async function checkPasses({ db }: Core): Promise<Check> {
  const [last, ...earlier] = await db
    .selectFrom('receiver.reconciliations')
    .selectAll()
    .where('actor', '=', worker)
    .where('ended_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(maxPasses)
    .execute();
  const since = last?.ended_at ?? undefined;
  const check = { name: 'reconciliation', status: 'warn', since } as const;
  const todo = 'receiver reconcile runs it now; the log of the workers says more';
  if (last?.error) return { ...check, title: 'The reconciliation has failed', detail: last.error, todo };
  if (!last || !since || Date.now() - since.getTime() > maxAgeMs) {
    const detail = `The last one was completed: ${since?.toISOString() ?? 'never'}`;
    return { ...check, title: 'The reconciliation is overdue', detail, todo };
  }
  const complete = earlier.findIndex(({ error }) => error === null);
  // What a pass has stored before it failed is not missing any more in the next.
  const counts = [last, ...earlier.slice(0, complete < 0 ? undefined : complete)].map((pass) => pass.counts);
  const sum = (name: 'missing' | 'stored') => counts.reduce((all, { [name]: count = 0 }) => all + count, 0);
  const { compared = 0, differs = 0 } = last.counts;
  const [missing, stored] = [sum('missing'), sum('stored')];
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

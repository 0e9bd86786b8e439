import { dayMs } from '../common/days.ts';
import type { Check, Feature } from '../receiver/feature.ts';
import type { Db } from '../receiver/store/tables.ts';
import { addPrivacyCommands } from './commands.ts';
import { continueErasures } from './erase.ts';
import { applyRetention, destroyWithheld } from './retention.ts';
import { checkUserDeletions } from './user-deletions.ts';

const minuteMs = 60_000;

export const privacy: Feature = {
  name: 'privacy',
  commands: addPrivacyCommands,
  tasks: (core) => [
    {
      name: 'erasures',
      everyMs: minuteMs,
      run: async (signal) => {
        const count = await continueErasures(core, signal);
        if (count > 0) core.log.info({ erasures: count }, 'erasures were continued');
        // Later callbacks and refused bodies of erased people are withheld, too.
        if (core.config.erasure.keepMs === 0) await destroyWithheld(core);
      },
    },
    {
      name: 'retention',
      everyMs: dayMs,
      run: async (signal) => {
        const deleted = await applyRetention(core, { signal });
        if (Object.values(deleted).some((count) => count > 0))
          core.log.info({ deleted }, 'retention applied');
      },
    },
  ],
  checks: async (core) => [...(await checkUserDeletions(core.db)), ...(await checkErasures(core.db))],
};

async function checkErasures(db: Db): Promise<Check[]> {
  const rows = await db
    .selectFrom('receiver.erasures')
    .select(['id', 'started_at'])
    .where('completed_at', 'is', null)
    .where('started_at', '<', new Date(Date.now() - 10 * minuteMs))
    .execute();
  return rows.map(({ id, started_at }) => ({
    name: 'erasure',
    about: id,
    status: 'fail',
    title: 'An erasure is not complete',
    detail: `Erasure ${id} could not be completed`,
    since: started_at,
    todo: 'A worker continues it each minute: look at its log',
  }));
}

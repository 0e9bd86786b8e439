import { sql } from 'kysely';
import { userDelete } from '../callbacks/families/other.ts';
import { reducedMark } from '../callbacks/reduce.ts';
import { dayMs } from '../common/days.ts';
import type { Check, Feature } from '../receiver/feature.ts';
import type { Db } from '../receiver/store/tables.ts';
import { addPrivacyCommands } from './commands.ts';
import { continueErasures } from './erase.ts';
import { applyRetention, destroyWithheld } from './retention.ts';

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

/** The platform documents no more than the event's name. */
async function checkUserDeletions(db: Db): Promise<Check[]> {
  const rows = await db
    .selectFrom('receiver.inbox')
    .select(['id', 'received_at'])
    .where('family', '=', 'other')
    .where('event', '=', userDelete)
    .where('received_at', '>', new Date(Date.now() - 30 * dayMs))
    .where(sql<boolean>`not ${reducedMark} = any(subjects)`)
    .orderBy('received_at')
    .limit(100)
    .execute();
  return rows.map(({ id, received_at }) => ({
    name: 'user-deletion',
    about: id,
    status: 'warn',
    title: 'The platform has deleted a user',
    detail: `Delivery ${id} may ask for the erasure of a patient`,
    since: received_at,
    todo: `Look at the delivery, and erase the patient with --also ${id}; after 30 days it is not shown any more`,
  }));
}

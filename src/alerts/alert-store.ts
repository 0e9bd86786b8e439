import { sql } from 'kysely';
import type { Log } from '../common/log.ts';
import { createLeases, type Fence } from '../store/lease.ts';
import type { Db } from '../store/tables.ts';
import type { Alert } from './alert.ts';

interface State {
  alerts: readonly Alert[];
  now: number;
  /** Resolves once these are recorded in place of the former ones. */
  save: (alerts: readonly Alert[]) => Promise<void>;
}

/**
 * Runs a function, unless another process is running one at the moment, or there is nothing to do: no alert, and no condition
 * for one.
 */
export type AlertStore = (hasConditions: boolean, run: (state: State) => Promise<void>) => Promise<void>;

const ms = (time: string) => sql.raw(`trunc(extract(epoch from ${time}) * 1000)::float8`);

/** Table `alerts`, with the database's clock. A process that is frozen while it sends is taken over, and its message repeated. */
export const tableStore = (db: Db, log: Pick<Log, 'debug'>): AlertStore => {
  const leases = createLeases(db, { log });
  return async (hasConditions, run) => {
    const { rows: former } = await sql`select from alerts limit 1`.execute(db);
    if (!hasConditions && former.length === 0) return;
    await leases.run('alerts', async ({ fence }) => {
      const { rows: alerts } = await sql<Alert>`
        select channel, name, subject, detail, ${ms('started_at')} as "startedAt", ${ms('sent_at')} as "sentAt",
               ${ms('ended_at')} as "endedAt"
        from alerts order by name, subject`.execute(db);
      const clock = await sql<{ now: number }>`select ${ms('now()')} as now`.execute(db);
      await run({ alerts, now: clock.rows[0]!.now, save: (changed) => replaceAll(db, changed, fence) });
    });
  };
};

/** The memory of this process, for an outage of PostgreSQL: each process sends its own message. */
export function memoryStore(): AlertStore {
  let alerts: readonly Alert[] = [];
  const save = async (changed: readonly Alert[]) => {
    alerts = changed;
  };
  return (_, run) => run({ alerts, now: Date.now(), save });
}

async function replaceAll(db: Db, alerts: readonly Alert[], fence: Fence): Promise<void> {
  const time = sql.raw(`timestamptz 'epoch' + interval '1 millisecond' *`);
  await db.transaction().execute(async (tx) => {
    await sql`
    with given as (
      select channel, name, subject, detail, ${time} "startedAt", ${time} "sentAt", ${time} "endedAt"
      from jsonb_to_recordset(${JSON.stringify(alerts)}::jsonb) as g(
        channel text, name text, subject text, detail jsonb, "startedAt" float8, "sentAt" float8, "endedAt" float8)
    ), over as (
      delete from alerts where (channel, name, subject) not in (select channel, name, subject from given)
    )
    insert into alerts (channel, name, subject, detail, started_at, sent_at, ended_at) select * from given
    on conflict (channel, name, subject) do update set
      detail = excluded.detail, started_at = excluded.started_at, sent_at = excluded.sent_at, ended_at = excluded.ended_at
  `.execute(tx);
    await fence(tx);
  });
}

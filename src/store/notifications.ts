import pg from 'pg';
import { hasCode } from './faults.ts';
import { describeSession, howToEnd, type Session } from './lock-holders.ts';

const timeoutMs = 1_000;
const isFull = '54000';

/** `NOTIFY` fails once PostgreSQL's queue of notifications is full; this is left to other programs of the server. */
export const fullUsage = 0.9;
/** From here on PostgreSQL says which session keeps the oldest. */
export const highUsage = 0.5;

const usageQuery = `
set local statement_timeout = ${timeoutMs};
select case when to_regnamespace('bullmq') is null then 0 else pg_notification_queue_usage() end as usage`;

/**
 * How full PostgreSQL's queue of notifications is, from 0 to 1; 0 where BullMQ has no tables. The question also frees what
 * every session has read: PostgreSQL itself does so only when notifications are sent, so that a full queue stays full.
 *
 * @throws the database's error
 */
export async function readNotificationUsage(pool: pg.Pool): Promise<number> {
  const results = (await pool.query(usageQuery)) as unknown as pg.QueryResult<{ usage: number }>[];
  return results.at(-1)!.rows[0]!.usage;
}

export interface NotificationHolder extends Session {
  /** Whether PostgreSQL named it; otherwise it only has the oldest transaction. */
  isNamed: boolean;
}

/** The session that PostgreSQL named last. */
const lastNamed = new WeakMap<pg.Pool, number>();

const columns = `pid, application_name as application, usename as role, xact_start as since, host(client_addr) as address, state`;

/**
 * The session that keeps PostgreSQL from freeing notifications, in any database of the server, while they fill half of their
 * queue or more; undefined: unknown. PostgreSQL names it in a warning to a session that notifies, once in five seconds for the
 * whole server. No role can read it otherwise.
 *
 * @throws the database's error
 */
export async function findNotificationHolder(pool: pg.Pool): Promise<NotificationHolder | undefined> {
  const pid = (await askForHolder(pool)) ?? lastNamed.get(pool);
  if (pid) {
    lastNamed.set(pool, pid);
    const { rows } = await pool.query<Session>(`select ${columns} from pg_stat_activity where pid = $1`, [
      pid,
    ]);
    if (rows[0]) return { ...rows[0], isNamed: true };
  }
  const { rows } = await pool.query<Session>(`select ${columns} from pg_stat_activity
    where state like 'idle in transaction%' order by xact_start limit 1`);
  return rows[0] && { ...rows[0], isNamed: false };
}

async function askForHolder(pool: pg.Pool): Promise<number | undefined> {
  const client = await pool.connect();
  let pid: number | undefined;
  // In any language, the detail has one number.
  const onNotice = ({ detail }: { detail?: string | undefined }) => {
    pid ??= Number(/\d+/.exec(detail ?? '')?.[0]) || undefined;
  };
  client.on('notice', onNotice);
  try {
    await client.query(`set local statement_timeout = ${timeoutMs}; set local client_min_messages = warning;
      select pg_notify('receiver', '')`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && hasCode(error, isFull))) throw error;
  } finally {
    client.off('notice', onNotice);
    client.release();
  }
  return pid;
}

/** The session of `findNotificationHolder` in words, with how to end it. */
export function describeNotificationHolder(holder: NotificationHolder | undefined): string {
  if (!holder) return "PostgreSQL's log names the session that keeps the oldest";
  const session = `${describeSession(holder)}. ${howToEnd(holder)}`;
  return holder.isNamed
    ? `The oldest is kept by ${session}`
    : `Which session keeps the oldest is not known yet; the oldest transaction is that of ${session}`;
}

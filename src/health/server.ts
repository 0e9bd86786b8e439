import { describeSession, type Session } from '../store/lock-holders.ts';
import { defineCheck } from './problem.ts';

/** How long a transaction may be open. */
export const old = { seconds: 600 };

/** Transactions that have been open for so long that they slow down every scan: PostgreSQL keeps each row that was deleted since. */
export const sessions = defineCheck<Session & { pid: number }>(
  () => `
select pid, application_name as application, usename as role, xact_start as since, host(client_addr) as address, state
from pg_stat_activity
where xact_start < now() - interval '${old.seconds} s' and datname = current_database() and pid <> pg_backend_pid()
  and pid not in (select pid from pg_stat_progress_vacuum)
order by xact_start`,
  (session) => ({
    kind: 'old session',
    subject: String(session.pid),
    status: 'warn',
    title: `Session ${session.pid} keeps PostgreSQL from removing deleted rows`,
    detail: `${describeSession(session)}. Once it is no longer needed: select pg_terminate_backend(${session.pid})`,
  }),
);

import { type CompiledQuery, sql } from 'kysely';
import type pg from 'pg';
import type { Check, Core, RunningCore } from '../receiver/feature.ts';
import { describeError } from '../receiver/store/errors.ts';
import { fingerprintOf } from '../receiver/store/migrate.ts';
import type { Db } from '../receiver/store/tables.ts';
import { guard } from './read-checks.ts';

interface Fault {
  about?: string;
  since?: Date;
}
interface CountedFault extends Fault {
  count: number;
}

interface DatabaseCheck<Row extends Fault> {
  ok: string;
  title: string;
  /** A row for each fault. */
  query: (core: RunningCore) => { compile: (db: Db) => CompiledQuery<Row> };
  detail: (row: Row) => string;
  todo: string | ((row: Row) => string);
}

type ReadCheck = (core: RunningCore) => Promise<Check[]>;

const queryMs = 20_000;
const maxCounted = 10_000;
const counted = ({ count }: CountedFault) => (count > maxCounted ? `more than ${maxCounted}` : count);
const iso = (time: Date | undefined) => time?.toISOString();

function check<Row extends Fault>(
  name: string,
  status: 'warn' | 'fail',
  { ok, title, query, detail, todo }: DatabaseCheck<Row>,
): ReadCheck {
  const read: ReadCheck = async (core) => {
    const { sql: text, parameters } = query(core).compile(core.db);
    // Kysely sets no time limit.
    const limited = { text, values: [...parameters], query_timeout: queryMs };
    const { rows } = await core.pool.query<Row & pg.QueryResultRow>(limited);
    const checks = rows.map((row): Check => {
      const advice = typeof todo === 'string' ? todo : todo(row);
      const about = row.about || undefined;
      return { name, status, title, detail: detail(row), todo: advice, about, since: row.since };
    });
    if (checks.length === 0) checks.push({ name, status: 'ok', title: ok, detail: '' });
    return checks;
  };
  return (core) => guard(core, name, () => read(core));
}

const refusals: Record<string, string> = {
  401: 'Compare SIGNING_KEYS and SIGNATURE_HEADER with what the platform uses',
  403: 'Compare ALLOWED_IPS, ALLOWED_CLIENT_IDS and ALLOWED_BUSINESS_IDS with who sends; behind a proxy, see TRUST_PROXY',
  413: 'Raise BODY_LIMIT',
  503: 'No store could take them, or one refuses them for a reason that the log says; the sender has to send them again',
  429: 'One address sends much with a wrong key, or is not allowed: see the log',
};

const count = sql<number>`count(*)::int`.as('count');
const aDayAgo = sql<Date>`now() - interval '1 day'`;

const quarantined = ({ db }: Core) =>
  db
    .selectFrom('receiver.quarantine')
    .select((eb) => ['reason as about', count, eb.fn.min('received_at').as('since')])
    .where('replayed_at', 'is', null)
    .groupBy('reason')
    .orderBy('reason');

const risen = ({ db }: Core, name: string, days: number) =>
  db
    .selectFrom('receiver.counters')
    .select(['key as about', sql<number>`count::int`.as('count'), 'first_at as since', 'last_at as until'])
    .where('name', '=', name)
    .where('last_at', '>', sql<Date>`now() - ${days} * interval '1 day'`)
    .orderBy('first_at');

const all: ReadCheck[] = [
  check('tables', 'fail', {
    ok: 'The tables are made for the families of this version',
    title: 'The tables are made for another version, or for other FAMILIES',
    query: ({ families }) => sql<Fault>`select where not receiver.is_current(${fingerprintOf(families)})`,
    detail: () => 'Callbacks are stored, and processes like this one apply none',
    todo: 'Finish the upgrade: stop the processes of the other version, or give all the same FAMILIES; then run receiver migrate',
  }),
  check('waiting', 'fail', {
    ok: 'No callback has waited for more than a minute',
    title: 'Callbacks are not applied',
    // Merged again, a callback that was stored long ago may wait for a moment.
    query: ({ families }) => sql<CountedFault & { isKnown: boolean }>`
      select p.family as about, p.family = any(${families.map(({ name }) => name)}) as "isKnown", count(*)::int as count,
        min(stored_at) as since
      from (
        select id, family from receiver.pending_deliveries
        where next_at < 'infinity' and (attempts > 0 or next_at < now() - interval '1 minute') limit ${maxCounted + 1}
      ) p join receiver.inbox using (id)
      where stored_at < now() - interval '1 minute' group by p.family order by p.family`,
    detail: (row) => `Stored for more than a minute, and in no report: ${counted(row)}`,
    todo: ({ isKnown }) =>
      isKnown
        ? 'Start a worker (ROLE=all or worker). The log of one that runs says why, such as rows that another session locks'
        : 'No family of that name is known here: set FAMILIES as it was',
  }),
  check('failed', 'fail', {
    ok: 'No callback has failed',
    title: 'Callbacks could not be applied',
    query: () => sql<CountedFault & { example: string }>`
      select family as about, count(*)::int as count, min(id::text) as example, min(received_at) as since
      from (select id from receiver.pending_deliveries where next_at = 'infinity' limit ${maxCounted + 1}) p
      join receiver.inbox using (id) group by family order by family`,
    detail: (row) => `PostgreSQL refuses the data of ${counted(row)}, such as ${row.example}`,
    todo: 'See why on the page Callbacks, or in the column error of deliveries; change what refuses them, then try them again there, or by receiver replay',
  }),
  check('rights', 'warn', {
    ok: 'Nobody else has rights on the tables and views',
    title: 'Another role may read or change tables or views',
    query: () => sql<CountedFault & { rights: string; example: string }>`
      select grantee as about, string_agg(distinct privilege, ', ') as rights, count(distinct name)::int as count, min(name) as example
      from receiver.other_grants() where is_ours group by 1 order by 1 limit 20`,
    detail: (row) => `${row.count} of them, such as ${row.example}: ${row.rights}`,
    todo: 'Revoke its rights, or make it a member of reporting_reader. See alter default privileges, too',
  }),
  check('acknowledged', 'fail', {
    ok: 'Every acknowledged callback could be stored',
    title: 'Acknowledged callbacks are in the quarantine',
    query: (core) => quarantined(core).where('acknowledged', '=', true),
    detail: (row) => `Refused after an outage, and not sent again by anybody: ${counted(row)}`,
    todo: 'See Callbacks in the console, or receiver quarantine list; try them again after a fix, or delete them',
  }),
  check('quarantine', 'warn', {
    ok: 'No message was rejected in the last day',
    title: 'Messages were rejected in the last day',
    query: (core) =>
      quarantined(core).where('acknowledged', '=', false).where('last_received_at', '>', aDayAgo),
    detail: (row) => `Kept, and in no report: ${counted(row)}`,
    todo: 'See Callbacks in the console, or receiver quarantine list: the sender may have changed something. Try them again after a fix, or delete them',
  }),
  check('rejections', 'warn', {
    ok: 'Hardly any request was refused in the last hour',
    title: 'Requests to the registered paths are refused',
    query: () => sql<CountedFault & { about: string }>`
      select split_part(key, ' ', 2) as about, sum(count)::int as count, min(first_at) as since from receiver.counters
      where name = 'rejections' and last_at > now() - interval '1 hour' group by 1 having sum(count) >= 10 order by 1`,
    detail: (row) => `Since ${iso(row.since)}, none of them is kept: ${row.count}`,
    todo: ({ about }) => refusals[about] ?? 'See the log',
  }),
  check('drift', 'warn', {
    ok: 'Callbacks are as documented, or differ as before',
    title: 'Callbacks differ from the documents in a new way',
    // Never a value. As text: keys of other counters are no JSON.
    query: () => sql<CountedFault & { some: string }>`
      select count(*)::int as count, min(first_at) as since,
        array_to_string((array_agg(distinct concat_ws(' ', key::jsonb->>2, key::jsonb->>0, key::jsonb->>1)))[1:5], ', ') as some
      from receiver.counters
      where name = 'drift' and first_at > now() - interval '7 days' and key not like '%","missing",%'
      having count(*) > 0`,
    detail: (row) => `New in the last 7 days: ${row.count}, such as ${row.some}`,
    todo: 'Nothing is lost. See reporting.schema_drift, and whether a report needs the new field or value',
  }),
  check('silence', 'warn', {
    ok: 'No business lacks five callbacks that it used to send',
    title: 'A business lacks callbacks that it used to send',
    query: () => sql<Fault & { families: string }>`
      select key::jsonb->>0 as about, key::jsonb->>1 as families, first_at as since from receiver.counters
      where name = 'silence' order by since limit 20`,
    detail: (row) => `Nothing of ${row.families.replaceAll('_', ' ')} since ${iso(row.since)?.slice(0, 10)}`,
    todo: 'See whether it is closed, and whether its subscription still leads here',
  }),
  check('stale', 'warn', {
    ok: 'Every row is what its callbacks say',
    title: 'Rows were not what their callbacks say',
    query: (core) => risen(core, 'stale', 1),
    detail: (row) => `Corrected by the daily merge: ${row.count}; this ends a day later`,
    todo: 'Find out who changes the tables of families, or deletes from receiver.pending_deliveries',
  }),
  check('outage', 'warn', {
    ok: 'Callbacks could always be taken in the last two days',
    title: 'No receiver could take callbacks for a time',
    query: () => sql<Fault & { until: Date; minutes: number }>`
      select to_char(from_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC') as about, from_at as since, until_at as until, minutes
      from reporting.outages where until_at > now() - interval '2 days' order by from_at desc limit 10`,
    detail: ({ since, until, minutes }) =>
      `From ${iso(since)} to ${iso(until)}, ${minutes} minutes; this ends after two days`,
    todo: 'Ask the platform to send the callbacks of that time again; receiver reconcile compares the appointments',
  }),
  check('lost', 'fail', {
    ok: 'No acknowledged callback is gone from the database',
    title: 'Acknowledged callbacks are gone from the database',
    query: (core) => risen(core, 'lost', 2),
    detail: ({ count, since, until }) =>
      `${count}, acknowledged from ${iso(since)} to ${iso(until)}; this ends after two days`,
    todo: 'Another PostgreSQL, which did not have them yet, has taken the place of the first: ask the platform to send the callbacks of that time again',
  }),
  check('task', 'fail', {
    ok: 'Every task runs',
    title: 'A task does not run',
    query: (core) => {
      const names = core.features.flatMap(({ tasks }) => tasks?.(core).map(({ name }) => name) ?? []);
      // One whose worker was killed is due since the end of its lease.
      return sql<Fault & { fails: boolean }>`
        select name as about, coalesce(failing_since, due) as since, failing_since is not null as fails
        from receiver.tasks, greatest(due_at, held_until) as due
        where name = any(${names}) and held_until <= now() and least(failing_since, due) < now() - interval '1 hour'
        order by name`;
    },
    detail: ({ about, since, fails }) => `${about} ${fails ? 'fails' : 'is due'} since ${iso(since)}`,
    todo: ({ fails }) => (fails ? 'See the log of the workers' : 'Start a worker (ROLE=all or worker)'),
  }),
];

/** A receiver writes one each minute. */
const newest = {
  text: 'select coalesce(max(at), now()) as at from receiver.heartbeats',
  query_timeout: queryMs,
};
const maxBehindMs = 180_000;

const checkReports: ReadCheck = async ({ pool, reports }) => {
  if (reports === pool) return [];
  const name = 'reports';
  const primary: Date = (await pool.query(newest)).rows[0].at;
  try {
    const standby: Date = (await reports.query(newest)).rows[0].at;
    const isBehind = primary.getTime() - standby.getTime() > maxBehindMs;
    const detail = `Pages, downloads and receiver sql show what was there at ${iso(standby)}`;
    if (!isBehind) return [{ name, status: 'ok', title: 'The standby for reports follows', detail }];
    const todo = 'See pg_stat_replication on the primary, and the log of the standby';
    const title = 'The standby for reports is behind';
    return [{ name, status: 'warn', title, detail, since: standby, todo }];
  } catch (error) {
    const todo =
      'Start the PostgreSQL of REPORT_DATABASE_URL, or unset the variable: the primary is read then';
    return [{ name, status: 'fail', title: 'Reports cannot be read', detail: describeError(error), todo }];
  }
};

export async function readDatabaseChecks(core: RunningCore): Promise<Check[]> {
  const checks: Check[] = [];
  for (const read of [...all, checkReports]) checks.push(...(await read(core)));
  return checks;
}

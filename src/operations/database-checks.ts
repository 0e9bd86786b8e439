import type pg from 'pg';
import type { Check, Core } from '../receiver/feature.ts';
import { fingerprintOf } from '../receiver/store/migrate.ts';
import { guard } from './read-checks.ts';

/** A fault; what else the query has is for `detail` and `todo`. */
interface Row extends pg.QueryResultRow {
  subject?: string;
  since?: Date;
}

/** A check whose query has a row for each fault. */
interface DatabaseCheck {
  name: string;
  status: 'warn' | 'fail';
  /** The title without a fault. */
  ok: string;
  title: string;
  query: string;
  values?: (core: Core) => unknown[];
  detail: (row: never) => string;
  todo: string | ((row: never) => string);
}

type Counted = Row & { count: number };

const queryMs = 20_000;
const maxCounted = 10_000;
const counted = ({ count }: Counted) => (count > maxCounted ? `more than ${maxCounted}` : String(count));
const iso = (time: Date | undefined) => time?.toISOString();

const refusals: Record<string, string> = {
  401: 'Compare SIGNING_KEYS and SIGNATURE_HEADER with what the platform uses',
  403: 'Compare ALLOWED_IPS, ALLOWED_CLIENT_IDS and ALLOWED_BUSINESS_IDS with who sends; behind a proxy, see TRUST_PROXY',
  413: 'Raise BODY_LIMIT',
  429: 'One address sends much with a wrong key, or is not allowed: see the log',
};

const all: DatabaseCheck[] = [
  {
    ...{ name: 'tables', status: 'fail', ok: 'The tables are made for the families of this version' },
    title: 'The tables are made for another version, or for other FAMILIES',
    query: 'select where not receiver.is_current($1)',
    values: ({ families }) => [fingerprintOf(families)],
    detail: () => 'Callbacks are stored, and processes like this one apply none',
    todo: 'Finish the upgrade: stop the processes of the other version, or give all the same FAMILIES; then run receiver migrate',
  },
  {
    ...{ name: 'waiting', status: 'fail', ok: 'No callback has waited for more than a minute' },
    title: 'Callbacks are not applied',
    // What is merged again was stored long ago, and may have to wait for a moment only.
    query: `select p.family as subject, p.family = any($1) as "isKnown", count(*)::int as count, min(stored_at) as since,
        min(receiver.damage(error)) filter (where error like 'XX00%') as damage
      from (
        select id, family, error from receiver.pending_deliveries
        where next_at < 'infinity' and (attempts > 0 or next_at < now() - interval '1 minute') limit ${maxCounted + 1}
      ) p join receiver.inbox using (id)
      where stored_at < now() - interval '1 minute' group by p.family order by p.family`,
    values: ({ families }) => [families.map(({ name }) => name)],
    detail: (row: Counted) => `Stored for more than a minute, and in no report: ${counted(row)}`,
    todo: ({ isKnown, damage }: Row) =>
      damage ??
      (isKnown
        ? 'Start a worker (ROLE=all or worker). The log of one that runs says why, such as rows that another session locks'
        : 'No family of that name is known here: set FAMILIES as it was'),
  },
  {
    ...{ name: 'failed', status: 'fail', ok: 'No callback has failed' },
    title: 'Callbacks could not be applied',
    query: `select family as subject, count(*)::int as count, min(id::text) as example, min(received_at) as since
      from (select id from receiver.pending_deliveries where next_at = 'infinity' limit ${maxCounted + 1}) p
      join receiver.inbox using (id) group by family order by family`,
    detail: (row: Counted) => `PostgreSQL refuses the data of ${counted(row)}, such as ${row.example}`,
    todo: `Read the column error of deliveries where status = 'failed', change what refuses them, then run receiver replay`,
  },
  {
    ...{ name: 'sequences', status: 'fail', ok: 'Every sequence is ahead of its table' },
    title: 'A sequence is behind its table',
    query: 'select sequence as subject, highest from receiver.late_sequences()',
    detail: ({ highest }: Row) =>
      `Inserts fail: the table has ${highest}, as where a copy has brought rows alone`,
    todo: 'Run receiver migrate: it moves sequences forward',
  },
  {
    ...{ name: 'rights', status: 'warn', ok: 'Nobody else has rights on the tables and views' },
    title: 'Another role may read or change tables or views',
    query: `select grantee as subject, string_agg(distinct privilege, ', ') as rights, count(distinct name)::int as count, min(name) as example
      from receiver.other_grants() where is_ours group by 1 order by 1 limit 20`,
    detail: ({ rights, count, example }: Counted) => `${count} of them, such as ${example}: ${rights}`,
    todo: 'Revoke its rights, or make it a member of reporting_reader. See alter default privileges, too',
  },
  {
    ...{ name: 'acknowledged', status: 'fail', ok: 'Every acknowledged callback could be stored' },
    title: 'Acknowledged callbacks are in the quarantine',
    query: `select reason as subject, count(*)::int as count, min(received_at) as since from receiver.quarantine
      where replayed_at is null and acknowledged group by reason order by reason`,
    detail: (row: Counted) => `Refused after an outage, and not sent again by anybody: ${counted(row)}`,
    todo: 'See receiver quarantine list, replay them after a fix, or drop them',
  },
  {
    ...{ name: 'quarantine', status: 'warn', ok: 'No body was refused in the last day' },
    title: 'Bodies were refused in the last day',
    query: `select reason as subject, count(*)::int as count, min(received_at) as since from receiver.quarantine
      where replayed_at is null and not acknowledged and last_received_at > now() - interval '1 day'
      group by reason order by reason`,
    detail: (row: Counted) => `In the quarantine, and in no report: ${counted(row)}`,
    todo: 'See receiver quarantine list: the sender may have changed something. After a fix, replay them, or drop them',
  },
  {
    ...{ name: 'quarantine-full', status: 'warn', ok: 'Every refused body is kept' },
    title: 'Refused bodies are not kept any more',
    query: `select key as subject, count::int, first_at as since from receiver.counters
      where name = 'quarantine' and last_at > now() - interval '1 day' order by key`,
    detail: ({ count, since }: Counted) =>
      `Since ${iso(since)} only counted, as the quarantine is full: ${count}`,
    todo: 'Ask the sender to stop or to correct what it sends, and to send it again; then replay the bodies, or drop them',
  },
  {
    ...{ name: 'unstored', status: 'fail', ok: 'Every valid delivery could be stored' },
    title: 'Deliveries get a 503 again and again',
    query: `select substr(key, 38) as subject, count(*)::int as count, sum(count)::int as requests, min(first_at) as since,
        min(example::text) as example from receiver.counters c
      where name = 'unstored' and last_at > now() - interval '1 day' and not exists (select from receiver.inbox where id = c.example)
      group by 1 order by 1 limit 20`,
    detail: ({ count, requests, example }: Counted) =>
      `${requests} requests of ${count} deliveries, such as ${example}; after 6 hours they are in the quarantine`,
    todo: 'Change in PostgreSQL what refuses them; its own log has the whole error. The sender sends them again, or replay them',
  },
  {
    ...{ name: 'rejections', status: 'warn', ok: 'Hardly any request was refused in the last hour' },
    title: 'Requests to the registered paths are refused',
    query: `select split_part(key, ' ', 2) as subject, sum(count)::int as count, min(first_at) as since from receiver.counters
      where name = 'rejections' and last_at > now() - interval '1 hour' group by 1 having sum(count) >= 10 order by 1`,
    detail: ({ count, since }: Counted) => `Since ${iso(since)}, none of them is kept: ${count}`,
    todo: ({ subject }: Row) => refusals[subject!] ?? 'See the log',
  },
  {
    ...{ name: 'drift', status: 'warn', ok: 'Callbacks are as documented, or differ as before' },
    title: 'Callbacks differ from the documents in a new way',
    // Never a value. As text: keys of other counters are no JSON.
    query: `select count(*)::int as count, min(first_at) as since,
        array_to_string((array_agg(distinct concat_ws(' ', key::jsonb->>2, key::jsonb->>0, key::jsonb->>1)))[1:5], ', ') as some
      from receiver.counters
      where name = 'drift' and first_at > now() - interval '7 days' and key not like '%","missing",%' having count(*) > 0`,
    detail: ({ count, some }: Counted) => `New in the last 7 days: ${count}, such as ${some}`,
    todo: 'Nothing is lost. See reporting.schema_drift, and whether a report needs the new field or value',
  },
  {
    ...{ name: 'silence', status: 'warn', ok: 'No business lacks five callbacks that it used to send' },
    title: 'A business sends no more',
    query: `select business_id as subject, string_agg(family, ', ' order by family) as families, min(last_received_at) as since
      from reporting.silence where out_of_the_ordinary group by business_id order by since limit 20`,
    detail: ({ families, since }: Row) => `Nothing of ${families} since ${iso(since)}`,
    todo: 'See whether it is closed, and whether its subscription still leads here',
  },
  {
    ...{ name: 'stale', status: 'warn', ok: 'Every row is what its callbacks say' },
    title: 'Rows were not what their callbacks say',
    query: `select count::int, last_at as since from receiver.counters
      where name = 'stale' and last_at > now() - interval '1 day'`,
    detail: ({ count }: Counted) => `Corrected by the daily comparison: ${count}; this ends a day later`,
    todo: 'Find out who changes the tables of families, or deletes from receiver.pending_deliveries',
  },
  {
    ...{ name: 'outage', status: 'warn', ok: 'Callbacks could always be taken in the last two days' },
    title: 'No receiver could take callbacks for a time',
    query: `select to_char(from_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC') as subject, from_at as since, until_at as until, minutes
      from reporting.outages where until_at > now() - interval '2 days' order by from_at desc limit 10`,
    detail: ({ since, until, minutes }: Row) =>
      `From ${iso(since)} to ${iso(until)}, ${minutes} minutes; this ends after two days`,
    todo: 'Ask the platform to send the callbacks of that time again; receiver reconcile compares the appointments',
  },
  {
    ...{ name: 'task', status: 'fail', ok: 'Every task runs', title: 'A task does not run' },
    query: `select name as subject, coalesce(failing_since, due_at) as since, failing_since is not null as fails from receiver.tasks
      where name = any($1) and held_until <= now() and least(failing_since, due_at) < now() - interval '1 hour' order by name`,
    values: (core) => [core.features.flatMap(({ tasks }) => tasks?.(core).map(({ name }) => name) ?? [])],
    detail: ({ subject, since, fails }: Row) =>
      `${subject} ${fails ? 'fails' : 'is due'} since ${iso(since)}`,
    todo: ({ fails }: Row) => (fails ? 'See the log of the workers' : 'Start a worker (ROLE=all or worker)'),
  },
];

async function read(core: Core, check: DatabaseCheck): Promise<Check[]> {
  const { name, status, ok, title, query: text, values, detail, todo } = check;
  const { rows } = await core.pool.query<Row>({ text, values: values?.(core) ?? [], query_timeout: queryMs });
  if (rows.length === 0) return [{ name, status: 'ok', title: ok, detail: '' }];
  return rows.map((row) => ({
    ...{ name, status, title, detail: detail(row as never) },
    todo: typeof todo === 'string' ? todo : todo(row as never),
    ...(row.subject !== undefined && { subject: row.subject }),
    ...(row.since && { since: row.since }),
  }));
}

const slowlyMs = 600_000;
const silences = new WeakMap<pg.Pool, { readAt: number; checks: Check[] }>();

/** That of silence reads the callbacks of weeks, so its result is kept for ten minutes. */
async function readKept(core: Core, check: DatabaseCheck): Promise<Check[]> {
  if (check.name !== 'silence') return read(core, check);
  const kept = silences.get(core.pool);
  if (kept && performance.now() - kept.readAt < slowlyMs) return kept.checks;
  const checks = await read(core, check);
  silences.set(core.pool, { readAt: performance.now(), checks });
  return checks;
}

/** What the tables tell, one query after the other; what cannot be read is a fault of its own and hides no other. */
export async function readDatabaseChecks(core: Core): Promise<Check[]> {
  const found: Check[] = [];
  for (const check of all) found.push(...(await guard(core, check.name, () => readKept(core, check))));
  return found;
}

import { type QueryResult, sql } from 'kysely';
import { maxCounted } from '../store/read-tables.ts';
import type { Condition } from './alert.ts';
import type { Definition } from './find.ts';

/** How many silent businesses have an alert of their own: a channel's state must not grow with the businesses. */
const maxNamed = 20;
const dayMs = 24 * 60 * 60 * 1000;
/** Searches of one user in ten minutes. */
const maxSearches = 40;
/** A pass is due each day. */
const overdueDays = 2;

/** The condition of an alert without subjects: there is one, or none. */
const single = (detail: Condition['detail'] | false | undefined) => (detail ? [{ subject: '', detail }] : []);

interface Counted {
  reason: string;
  count: number;
}

const describeCounts = (rows: readonly Counted[]) => rows.map(({ reason, count }) => `${reason}: ${count}`);

/** Reasons with their counts, most frequent first. */
const singleWithReasons = ({ rows }: QueryResult<Counted>) =>
  single(rows.length > 0 && { reasons: describeCounts(rows) });

/** The outage of PostgreSQL, which cannot be recorded there. */
export const outage: Definition = {
  name: 'postgresql',
  isOutage: true,
  find: ({ circuit, queueCircuit, fallback }) => {
    const { acknowledges = false, detail } = (!queueCircuit.isOpen && fallback?.state) || {};
    return single(
      circuit.isOpen && { inRedis: acknowledges, ...(!acknowledges && detail && { why: detail }) },
    );
  },
  title: () => 'PostgreSQL is unavailable',
  explain: ({ detail: { inRedis, why } }) =>
    inRedis
      ? 'Callbacks are stored only in Redis until it is restored: do not wipe Redis'
      : `Callbacks get a 503 until it is restored; the sender has to resend them${why ? `. Redis acknowledges none: ${why}` : ''}`,
};

/** The alerts that are recorded in table `alerts`, most urgent first. */
export const definitions: readonly Definition[] = [
  {
    name: 'redis',
    isOutage: true,
    find: ({ circuit, queueCircuit }) => single(queueCircuit.isOpen && !circuit.isOpen && {}),
    title: () => 'Redis is unavailable',
    explain: () => 'Callbacks are stored, and wait for it to be restored',
  },
  {
    name: 'copy',
    find: ({ rival }) => {
      const server = rival();
      return single(Boolean(server) && { server });
    },
    title: () => 'A copy of this database uses the same Redis',
    explain: ({ detail: { server } }) =>
      `The other one, ${server}, drains the callbacks that are stored in Redis; this one acknowledges none there. ` +
      'Give the copy another QUEUE_PREFIX or another Redis',
  },
  {
    name: 'processing',
    find: async ({ problems }) =>
      (await problems()).map(({ kind, subject, title, detail }) => ({
        subject: `${kind} ${subject}`,
        detail: { title, detail },
      })),
    title: ({ detail }) => `${detail.title}`,
    explain: ({ detail }) => `${detail.detail}`,
  },
  {
    name: 'searches',
    find: async ({ db }) => {
      const { rows } = await sql<{ subject: string; count: number }>`
        select actor as subject, count(*)::int as count from access_log
        where at > now() - interval '10 minutes' and at <= now() and action = 'search'
        group by actor having count(*) > ${maxSearches} order by count desc, actor`.execute(db);
      return rows.map(({ subject, count }) => ({ subject, detail: { count } }));
    },
    title: ({ subject }) => `${subject} searches for many people`,
    explain: ({ detail: { count } }) =>
      `By phone number, name or patient's id: ${count} times in 10 minutes. /console/access-log has each. ` +
      'If nobody can say why, take the role away from this account',
  },
  {
    name: 'failed',
    find: async ({ db }) => {
      const { rows } = await sql<{ family: string; count: number }>`
        select family, count(*)::int as count from (
          select family from failed_deliveries f
          where not exists (select from seen_deliveries s where s.id = f.id) limit ${maxCounted}
        ) failed
        group by family order by family`.execute(db);
      return rows.map(({ family, count }) => ({ subject: family, detail: { count } }));
    },
    title: ({ subject }) => `Deliveries of the family ${subject} failed`,
    explain: ({ detail: { count } }) =>
      `Not in their table: ${count}. /console/problems says why: replay them after a fix, or mark them as seen`,
  },
  {
    name: 'dropped',
    find: async ({ db }) =>
      singleWithReasons(
        await sql<Counted>`
          select reason, sum(count)::float8 as count from dropped_bodies
          where last_at > now() - interval '1 hour' and last_at <= now()
          group by reason order by count desc, reason`.execute(db),
      ),
    title: () => 'Rejected bodies are being dropped',
    explain: ({ detail: { reasons } }) =>
      `The quarantine is full, and its oldest bodies were deleted before they were replayed: ${(reasons as string[]).join(', ')}. ` +
      'Unless the sender resends them, they are lost: replay after a fix, or drop what is not needed',
  },
  {
    name: 'quarantine',
    find: async ({ db }) =>
      singleWithReasons(
        await sql<Counted>`
          select reason, count(*)::int as count from (
            select reason from quarantine
            where last_received_at > now() - interval '1 hour' and received_at > now() - interval '1 hour'
              and received_at <= now() and replayed_at is null
            limit ${maxCounted}
          ) recent
          group by reason order by count desc, reason`.execute(db),
      ),
    title: () => 'The quarantine grows',
    explain: ({ detail: { reasons } }) =>
      `In the last hour ${(reasons as string[]).join(', ')}. /console/problems says why: the sender may have changed something`,
  },
  {
    name: 'silence',
    // Reads an index of 28 days of deliveries, for each business.
    isSlow: true,
    find: async ({ db }) => {
      const { rows } = await sql<{ subject: string; alias: string | null; gaps: string[] }>`
        select business_id as subject, min(alias) as alias, array_agg(
          format('%s for %s hours, %s expected', family, floor(extract(epoch from present_gap) / 3600), round(expected_callbacks))
          order by family) as gaps
        from reporting.silence left join aliases on kind = 'business' and id = business_id
        where out_of_the_ordinary
        group by business_id order by min(last_received_at), business_id`.execute(db);
      // Ordered by the length of the silence: a newly silent business displaces none.
      const named = rows.slice(0, maxNamed).map(({ subject, ...detail }) => ({ subject, detail }));
      const others = rows.length - named.length;
      return others > 0 ? [...named, { subject: '', detail: { others } }] : named;
    },
    title: ({ subject, detail: { alias, others } }) =>
      others === undefined
        ? `Business ${alias ? `${alias} (${subject})` : subject} is silent`
        : 'Further businesses are silent',
    explain: ({ detail: { gaps, others } }) =>
      others === undefined
        ? `No ${(gaps as string[]).join('; no ')}. Is its address still registered, and is it open?`
        : `Besides those with a message of their own: ${others}. /console/reports/silence names them`,
  },
  {
    name: 'retention',
    ofWorker: true,
    find: ({ sinceRetentionMs }) => {
      const ms = sinceRetentionMs() ?? 0;
      return single(ms > overdueDays * dayMs && { days: Math.floor(ms / dayMs) });
    },
    title: () => 'The retention is overdue',
    explain: ({ detail: { days } }) =>
      `No pass was completed for ${days} days. The log of the worker says why; \`receiver retention\` runs one`,
  },
  {
    name: 'erasure',
    find: async ({ db }) => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from (
          select from withheld.records
          where destroy_at < now() - ${overdueDays} * interval '1 day'
            and not patients && array(select hash from patient_holds) limit ${maxCounted}
        ) overdue`.execute(db);
      return single(rows[0]!.count > 0 && { ...rows[0] });
    },
    title: () => 'The destruction of erased data is overdue',
    explain: ({ detail: { count } }) =>
      `Withheld records that are due for more than ${overdueDays} days: ${count}. The log of the worker says why`,
  },
];

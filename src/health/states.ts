import { defineCheck } from './problem.ts';

const shownDays = 30;

/** How each kind of loss came about, as far as the table tells. */
const causes: Record<string, string> = {
  inbox: 'Their state is there, their row of inbox is not: somebody deleted it, or a page was damaged',
  redis: 'They waited in Redis, which has lost them',
};

/** Acknowledged deliveries that are in no store any more: only the platform can send them again. */
export const lost = defineCheck<{
  lostFrom: string;
  family: string;
  count: number;
  first: string;
  last: string;
  since: Date;
  example: string;
}>(
  `
select lost_from as "lostFrom", family, count(*)::int as count, to_char(min(at), 'YYYY-MM-DD HH24:MI:SS') as first,
  to_char(max(at), 'YYYY-MM-DD HH24:MI:SS') as last, min(found_at) as since, min(id::text) as example
from (
  select id, family, lost_from, found_at, received_at at time zone reporting.timezone() as at from lost_deliveries l
  where found_at > now() - interval '${shownDays} days' and not exists (select from inbox i where i.id = l.id)
  order by found_at desc limit 100000
) latest
group by lost_from, family order by lost_from, family`,
  ({ lostFrom, family, count, first, last, since, example }) => ({
    kind: 'lost',
    subject: `${lostFrom} ${family}`,
    status: 'fail',
    since,
    title: `Acknowledged deliveries of the family ${family} are lost`,
    detail:
      `${count} that were received from ${first} to ${last}, for example ${example}. ${causes[lostFrom] ?? 'Cause unknown'}. ` +
      'Ask the platform to send the callbacks of that time again: one that comes again is not lost any more. The table ' +
      `lost_deliveries lists them. This message ends ${shownDays} days after the find, or with: ` +
      'receiver sql --write "delete from lost_deliveries"',
  }),
);

/** Deliveries that had lost their state in the last day, and have one again. */
export const withoutState = defineCheck<{ count: number; first: Date }>(
  `
select sum(requeued)::float8 as count, min(requeued_since) as first from state_checks
where requeued_at > now() - interval '1 day'
having sum(requeued) > 0`,
  ({ count, first }) => ({
    kind: 'without state',
    subject: '',
    status: 'warn',
    since: first,
    title: 'Deliveries had lost their state',
    detail:
      `${count} were in inbox and neither received, applied nor failed: somebody deleted rows of the tables of states, or a ` +
      'page was damaged. They are applied again, which changes nothing where they were applied before: nothing has to be ' +
      'done. This message ends a day after the last was found',
  }),
);

import { defineCheck } from './problem.ts';

const shownDays = 1;
const mostShown = 10;

/** Outages of the receiver that have ended: somebody has to find what did not come. The message ends after a day. */
export const outages = defineCheck<{ from: string; until: string; minutes: number; days: [string, string] }>(
  `
select to_char(began, 'YYYY-MM-DD HH24:MI') as "from",
  to_char(ended, case when began::date = ended::date then 'HH24:MI' else 'YYYY-MM-DD HH24:MI' end) as "until",
  minutes, array[began::date, ended::date]::text[] as days
from (
  select from_at at time zone reporting.timezone() as began, until_at at time zone reporting.timezone() as ended, minutes
  from reporting.outages where until_at > now() - interval '${shownDays} day' order by from_at desc limit ${mostShown}
) latest`,
  ({ from, until, minutes, days: [first, last] }) => ({
    kind: 'outage',
    subject: from,
    status: 'warn',
    title: `Not receiving from ${from} to ${until}`,
    detail:
      `No receiver ran that could store callbacks, for ${minutes} minutes. Compare the appointments with the platform: ` +
      `npx receiver reconcile --from ${first} --to ${last}. Receipts cannot be verified: ask the platform to resend those of ` +
      `this time. This message ends a day after the outage; reporting.outages has all`,
  }),
);

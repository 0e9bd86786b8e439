import { defineCheck } from './problem.ts';

const shownDays = 2;
const mostShown = 10;

interface Row {
  from: string;
  until: string;
  minutes: number;
  days: [first: string, last: string];
}

/** Outages of the receiver that have ended: somebody has to find what did not come. The message ends after two days. */
export const outages = defineCheck<Row>(
  `
select to_char(began, 'YYYY-MM-DD HH24:MI') as "from",
  to_char(ended, case when began::date = ended::date then 'HH24:MI' else 'YYYY-MM-DD HH24:MI' end) as "until",
  minutes, array[began::date, ended::date]::text[] as days
from (
  select from_at at time zone reporting.timezone() as began, until_at at time zone reporting.timezone() as ended, minutes
  from reporting.outages where until_at > now() - interval '${shownDays} days' order by from_at desc limit ${mostShown}
) latest
order by began desc`,
  ({ from, until, minutes, days: [first, last] }) => ({
    kind: 'outage',
    subject: from,
    status: 'warn',
    title: `Not receiving from ${from} to ${until}`,
    detail:
      `No receiver ran that could store callbacks, for ${minutes} minutes. Compare the appointments with the platform: npx ` +
      `receiver reconcile --from ${first} --to ${last}. Receipts cannot be verified: ask the platform to resend those of ` +
      'this time. This message ends two days after the outage; reporting.outages has all',
  }),
);

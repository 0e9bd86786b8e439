import { defineCheck } from './problem.ts';

const shownDays = 1;
const mostShown = 10;

interface Row {
  from: string;
  until: string;
  minutes: number;
  days: [first: string, last: string];
  missing: number | null;
  filled: number | null;
}

/** Appointments of an outage's days that were missing and are filled; null: not compared since `until_at`. */
const found = 'select null::integer as missing, null::integer as filled';

/** Outages of the receiver that have ended: somebody has to find what did not come. The message ends after a day. */
export const outages = defineCheck<Row>(
  `
select to_char(began, 'YYYY-MM-DD HH24:MI') as "from",
  to_char(ended, case when began::date = ended::date then 'HH24:MI' else 'YYYY-MM-DD HH24:MI' end) as "until",
  minutes, array[began::date, ended::date]::text[] as days, missing, filled
from (
  select from_at at time zone reporting.timezone() as began, until_at at time zone reporting.timezone() as ended, until_at, minutes
  from reporting.outages where until_at > now() - interval '${shownDays} day' order by from_at desc limit ${mostShown}
) latest
cross join lateral (${found}) compared
order by began desc`,
  ({ from, until, minutes, days: [first, last], missing, filled }) => {
    const compared =
      missing === null
        ? `Compare the appointments with the platform: npx receiver reconcile --from ${first} --to ${last}`
        : `${missing} appointments of these days were found missing, ${filled} are filled`;
    return {
      kind: 'outage',
      subject: from,
      status: 'warn',
      title: `Not receiving from ${from} to ${until}`,
      detail:
        `No receiver ran that could store callbacks, for ${minutes} minutes. ${compared}. Receipts cannot be verified: ask ` +
        'the platform to resend those of this time. This message ends a day after the outage; reporting.outages has all',
    };
  },
);

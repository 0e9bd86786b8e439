import { defineCheck } from './problem.ts';

/** Sums of past days that have changed since somebody may have printed them, because a former version's rows were made anew. */
export const movedSums = defineCheck<{
  days: number;
  first: string | null;
  last: string | null;
  businesses: number;
  unmended: number;
  since: Date | null;
}>(
  `
select days, first, last, businesses, unmended, coalesce(moved_at, completed_at) as since
from (
  select count(distinct day)::int as days, min(day)::text as first, max(day)::text as last,
    count(distinct business_id)::int as businesses, min(moved_at) as moved_at
  from moved_sums where read_at is null
) moved, (
  select coalesce(sum(unmended), 0)::float8 as unmended, max(completed_at) as completed_at from refolds where read_at is null
) mended
where days > 0 or unmended > 0`,
  ({ days, first, last, businesses, unmended, since }) => ({
    kind: 'moved sums',
    subject: '',
    status: 'warn',
    ...(since && { since }),
    title: days > 0 ? 'Sums of past days have changed' : 'Records may lack what older callbacks said',
    detail: [
      ...(days > 0
        ? [
            `${days} days, ${first} to ${last}, of ${businesses} businesses: an update had taken known fields away, which are there again`,
          ]
        : []),
      ...(unmended > 0
        ? [`${unmended} records may lack what an older callback said: it cannot be read any more`]
        : []),
      'See `receiver replay --fields --moved`; `receiver replay --fields --read` ends this message',
    ].join('. '),
  }),
);

import { userDelete } from '../families/index.ts';
import { literal } from '../families/sql.ts';
import { defineCheck } from './problem.ts';

const days = 30;

/** Deleted users of the platform that nobody has looked at: a person decides whether somebody asks for an erasure. */
export const userDeletions = defineCheck<{ count: number; oldest: string }>(
  `
select count(*)::int as count, min(delivery_id::text) as oldest from other_events e
where last_event = ${literal(userDelete)} and event_time > now() - interval '${days} days'
  and not exists (select from seen_deliveries s where s.id = e.delivery_id)
having count(*) > 0`,
  ({ count, oldest }) => ({
    kind: 'user deletion',
    subject: '',
    status: 'warn',
    title: 'The platform has deleted users',
    detail: `${count} callbacks ${userDelete} of the last ${days} days were not marked as seen. What they contain is not documented: see whether a patient's data has to be erased, then mark each as seen, which ends this message`,
    page: `/deliveries/${oldest}`,
  }),
);

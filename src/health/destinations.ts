import { defineCheck } from './problem.ts';

/** Destinations of webhooks that get nothing, or not all. Paused by a person, a destination has no reason. */
export const destinations = defineCheck<{
  id: string;
  state: string;
  reason: string | null;
  parked: number;
}>(
  `
select d.id, d.state, d.reason, parked.count as parked
from destinations d, lateral (
  select count(*)::int as count from (
    select from destination_waiting w where w.destination_id = d.id and w.parked_at is not null limit 1000
  ) some_parked
) parked
where d.state <> 'active' and d.reason is not null or parked.count > 0
order by d.created_at limit 20`,
  ({ id, state, reason, parked }) => ({
    kind: 'destination',
    subject: id,
    status: 'warn',
    title: `Destination ${id} ${reason ? `is ${state}` : 'has records that were given up'}`,
    detail: reason
      ? `${reason}. It gets no webhooks: receiver destinations resume ${id}, or remove ${id}`
      : `${parked} records were not accepted for three days: receiver destinations show ${id} lists them, and receiver destinations redrive ${id} sends them again`,
  }),
);

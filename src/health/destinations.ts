import { defineCheck } from './problem.ts';

/** Destinations of webhooks that get nothing. Paused by a person, a destination has no reason. */
export const destinations = defineCheck<{ id: string; state: string; reason: string }>(
  `
select id, state, reason from destinations
where reason is not null and (state <> 'active' or failing_since < now() - interval '1 hour')
order by created_at limit 20`,
  ({ id, state, reason }) => ({
    kind: 'destination',
    subject: id,
    status: 'warn',
    title: `Destination ${id} is ${state === 'active' ? 'failing' : state}`,
    detail: `${reason}. It gets no webhooks: receiver destinations resume ${id}, skip ${id} to leave out the next change, or remove ${id}`,
  }),
);

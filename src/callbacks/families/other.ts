import { defineFamily } from './family.ts';

/** A user of the platform was deleted. Its payload is not documented, so a person has to look at it. */
export const userDelete = 'user.delete';

/** Events that no family lists, kept as they are. Its path takes every event: a subscription can send all to one address. */
export const other = defineFamily({
  name: 'other',
  events: {},
  path: { variable: 'EVENTS_PATH', default: ['/events'] },
  table: 'other_events',
  fields: {},
});

import { defineFamily } from './family.ts';

/**
 * Events that no family lists: their data is kept as it is. The path of this family accepts every event, so that a
 * subscription can send everything to one address.
 */
export const other = defineFamily({
  name: 'other',
  events: [],
  path: { variable: 'EVENTS_PATH', default: ['/events'] },
  table: 'other_events',
  fields: {},
});

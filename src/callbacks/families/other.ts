import { defineFamily } from './family.ts';

/** A user of the platform was deleted. Its payload is not documented, so a person has to look at it. */
export const userDelete = 'user.delete';

/** Documented events that no family lists. */
export const otherEvents =
  `${userDelete} user.data.download abha.care_context_discover abha.care_context_discover_link_init
  abha.context_discover_link_confirm abha.hip_data_fetch abha.hiu_data_push abha.consent_update abha.locker_created
  abha.subscription_notify abha.subscription_modified doctor.search.results doctor.slot.search.results rec.uploaded
  rec.classification rec.pii rec.srp rec.refresh`.split(/\s+/);

/** Events that no family lists, kept as they are. Its path takes every event: a subscription can send all to one address. */
export const other = defineFamily({
  name: 'other',
  events: {},
  path: { variable: 'EVENTS_PATH', default: ['/events'] },
  table: 'other_events',
  fields: {},
});

/** Raw SQL: a rebuild writes all callbacks of a step, and the families of their pending rows, in one statement. */

import { incoming } from './insert.ts';

/** Writes what stored deliveries are by other rules. Their pending rows follow. */
export const updateDeliveries = `
with ${incoming}, updated as (
  update receiver.inbox i
  set (family, event, client_id, business_id, record_id, version, event_time, subjects, data)
    = (d.family, d.event, d.client_id, d.business_id, d.record_id, d.version, d.event_time, d.subjects, d.data)
  from incoming d where i.id = d.id returning i.id, i.family
)
update receiver.pending_deliveries p set family = u.family from updated u where p.id = u.id and p.family <> u.family`;

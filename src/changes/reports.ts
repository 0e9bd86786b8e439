import type { Family } from '../families/index.ts';
import { keyOf } from '../families/sql.ts';

/** The view of schema reporting with the records of a family, and its column for their id, where they have other names. */
const named: Record<string, { view?: string; id?: string }> = {
  receipt: { view: 'all_receipts' },
  consent_form: { id: 'form_id' },
  admission: { id: 'admission_id' },
  admission_event: { id: 'event_id' },
  admission_clearance: { id: 'clearance_id' },
  admission_estimate: { id: 'estimate_id' },
  booking: { id: 'booking_id' },
};

/** Where a change reads its record: the view `view` of schema reporting, by `business_id` and the column `id`. */
export const reportOf = (family: Family) => ({
  view: named[family.name]?.view ?? family.table,
  id: named[family.name]?.id ?? keyOf(family).at(-1)!,
});

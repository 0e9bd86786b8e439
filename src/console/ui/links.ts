/** The page of a receipt, a consent form, and so on; `id`: of the delivery where the family has no key. */
export const thingHref = (family: string, business: string, id: string) =>
  `/console/things/${family}?${new URLSearchParams({ business, id })}`;

/** Columns of tables and views that hold the id of a thing, and the family of that. */
const thingColumns: Record<string, string> = {
  receipt_id: 'receipt',
  form_id: 'consent_form',
  appointment_id: 'appointment',
  aid: 'appointment',
  prescription_id: 'prescription',
  admission_id: 'admission',
};

/** The page of the thing that a column of a row names; undefined: it names none. */
export function thingOf(column: string, row: Readonly<Record<string, string | null>>): string | undefined {
  const [family, id, business] = [thingColumns[column], row[column], row.business_id];
  return family && id && business != null ? thingHref(family, business, id) : undefined;
}

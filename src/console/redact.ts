import type { Family } from '../families/index.ts';

const hidden = '•••';

// Texts that name a place, a doctor or a business, not a patient. All other texts may.
const openTexts = new Set(['clinic_id', 'doctor_oid', 'doctor_id', 'docid', 'owner', 'id']);

const openColumns = new Set([
  'business_id',
  'client_id',
  'last_event',
  'event_time',
  'deleted_at',
  'delivery_id',
]);

const openOfEnvelope = new Set(['event', 'event_time', 'timestamp', 'client_id', 'business_id']);

/** Whether a field of a family can be no personal data: a number, a time, a code, or the id of no patient. */
function isOpen(family: Family | undefined, name: string): boolean {
  const field = family && Object.hasOwn(family.fields, name) ? family.fields[name] : undefined;
  return (
    field !== undefined &&
    (field.json === 'numeric' || field.knownValues !== undefined || openTexts.has(name))
  );
}

const redact = (value: unknown) => (value === null || value === '' ? value : hidden);

function redactAll(values: Record<string, unknown>, isShown: (name: string) => boolean) {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.map(([name, value]) => [name, isShown(name) ? value : redact(value)]));
}

/** A callback without what may be personal. Fields that nobody documented are concealed too. */
export function redactEnvelope(envelope: Record<string, unknown>, family: Family | undefined): object {
  const data = (envelope.data ?? {}) as Record<string, unknown>;
  return {
    ...redactAll(envelope, (name) => openOfEnvelope.has(name)),
    data: redactAll(data, (name) => isOpen(family, name)),
  };
}

/** A row of a family's table without what may be personal. */
export function redactRow(row: Record<string, unknown>, family: Family): Record<string, unknown> {
  return redactAll(row, (name) => openColumns.has(name) || isOpen(family, name));
}

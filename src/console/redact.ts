import { type Family, publicColumns, publicEnvelopeFields } from '../families/index.ts';

const hidden = '•••';

/** Whether a field cannot identify a patient: so it is marked in every family that has it. */
export function isPublicField(families: readonly Family[], name: string): boolean {
  const found = families.filter(({ fields }) => Object.hasOwn(fields, name));
  return found.length > 0 && found.every(({ fields }) => fields[name]!.personal === false);
}

function redactAll<Value>(values: Record<string, Value>, isShown: (name: string) => boolean) {
  const entries = Object.entries(values).map(([name, value]) => {
    const isEmpty = value === null || value === '';
    return [name, isEmpty || isShown(name) ? value : hidden] as const;
  });
  return Object.fromEntries(entries);
}

/** A callback without personal data. Undocumented fields are redacted too. */
export function redactEnvelope(envelope: Record<string, unknown>, family: Family | undefined): object {
  const data = (envelope.data ?? {}) as Record<string, unknown>;
  return {
    ...redactAll(envelope, (name) => publicEnvelopeFields.has(name)),
    data: redactAll(data, (name) => isPublicField(family ? [family] : [], name)),
  };
}

/** A row of a family's table without personal data. */
export function redactRow<Value>(row: Record<string, Value>, family: Family): Record<string, Value | string> {
  return redactAll(row, (name) => publicColumns.has(name) || isPublicField([family], name));
}

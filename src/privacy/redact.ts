import { type Family, isPublicField, publicColumns, publicEnvelopeFields } from '../families/index.ts';

const hidden = '•••';

export const isHidden = (value: unknown): boolean => value === hidden;

function redactAll<Value>(values: Record<string, Value>, isShown: (name: string) => boolean) {
  const entries = Object.entries(values).map(([name, value]) => {
    const isEmpty = value === null || value === '';
    return [name, isEmpty || isShown(name) ? value : hidden] as const;
  });
  return Object.fromEntries(entries);
}

/** A callback without personal data. */
export function redactEnvelope(envelope: Record<string, unknown>, family: Family | undefined): object {
  const { data = {}, ...parties } = envelope;
  const known = family ? [family] : [];
  const isDocumented = (name: string) => known.some(({ fields }) => Object.hasOwn(fields, name));
  const documented = withoutUndocumented(data as object, isDocumented);
  return {
    ...withoutUndocumented(parties, (name) => publicEnvelopeFields.has(name)),
    data: redactAll(documented, (name) => name === hidden || isPublicField(known, name)),
  };
}

/** Shows how many undocumented fields there are: their names may be personal too. */
function withoutUndocumented(values: object, isDocumented: (name: string) => boolean) {
  const entries = Object.entries(values) as [string, unknown][];
  const documented = entries.filter(([name]) => isDocumented(name));
  const others = entries.length - documented.length;
  const note = others === 1 ? '1 undocumented field' : `${others} undocumented fields`;
  return Object.fromEntries<unknown>(others > 0 ? [...documented, [hidden, note]] : documented);
}

/** A row of a family's table without personal data. */
export function redactRow<Value>(row: Record<string, Value>, family: Family): Record<string, Value | string> {
  return redactAll(row, (name) => publicColumns.has(name) || isPublicField([family], name));
}

import type { Family } from '../families/index.ts';
import { findUnstorable } from '../intake/unstorable.ts';

/** The fields that fit the family's documentation, and that PostgreSQL can store: it would refuse all of the others' page. */
export function fittingFields({ data }: Family, read: Readonly<Record<string, unknown>>) {
  const faults = new Set(data.safeParse(read).error?.issues.map(({ path }) => path[0]));
  return storableFields(Object.fromEntries(Object.entries(read).filter(([name]) => !faults.has(name))));
}

export const storableFields = (read: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(read).filter(
      ([name, value]) =>
        value !== undefined &&
        findUnstorable(JSON.stringify({ [name]: value }), { [name]: value }).length === 0,
    ),
  );

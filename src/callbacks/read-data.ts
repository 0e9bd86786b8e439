import type { AnyCallback } from './callback.ts';
import { cached, classOf, type Family } from './families/family.ts';
import { absent, readField, unfit } from './families/field.ts';

/** In front of the name of a value that does not fit its column. */
export const unfitMark = '\u0001';

const readerOf = cached(({ fields, dependentFields = {} }: Family) => {
  const entries = Object.entries(fields);
  const named = entries.flatMap(([name, field]) =>
    [name, field.alias ?? []].flat().map((one) => [one, { name, field }] as const),
  );
  return {
    /** By each name that a field may have. */
    byName: new Map(named),
    fromEnvelope: entries.flatMap(([name, { fromEnvelope }]) =>
      fromEnvelope ? [[name, fromEnvelope] as const] : [],
    ),
    dependentFields: Object.entries(dependentFields),
  };
});

/** The field that callbacks call so, with its own name. */
export const fieldNamed = (family: Family, name: string) => readerOf(family).byName.get(name);

/**
 * What a callback says of its record, by the rules of tolerance: a value that does not fit goes to `extra`, one that says
 * nothing is left out, and so is null in a deletion.
 *
 * @param eventMs the time of its event
 * @returns `data`: what is merged, the callback's own `data` where that is the same; `unfitFields`: the fields whose values do not fit
 */
export function readData(callback: AnyCallback, family: Family, eventMs: number) {
  const { byName, fromEnvelope, dependentFields } = readerOf(family);
  const isDeletion = classOf(family, callback.event) === 'deleted';
  const given = callback.data;
  const unfitFields: string[] = [];
  let changed: Record<string, unknown> | undefined;
  const data = () => {
    changed ??= { ...given };
    return changed;
  };
  for (const key in given) {
    const value = given[key];
    const known = byName.get(key);
    if (isDeletion && value === null) delete data()[key];
    else if (known) {
      const { name, field } = known;
      const read = readField(field, value, eventMs);
      if (read === value && name === key) continue;
      if (name !== key) {
        delete data()[key];
        // Its own name wins.
        if (given[name] != null) continue;
      }
      if (read === unfit) {
        unfitFields.push(name);
        delete data()[name];
        data()[unfitMark + name] = value;
      } else if (read === absent || (isDeletion && read === null)) delete data()[name];
      else data()[name] = read;
    }
  }
  for (const [name, read] of fromEnvelope) {
    const value = read(callback);
    if (value !== undefined) data()[name] = value;
  }
  if (!isDeletion)
    for (const [lead, others] of dependentFields) {
      if (!Object.hasOwn(changed ?? given, lead)) continue;
      for (const name of others)
        if (![name, unfitMark + name].some((one) => Object.hasOwn(changed ?? given, one)))
          data()[name] = null;
    }
  return { data: changed ?? given, unfitFields };
}

import type { AnyCallback } from './callback.ts';
import { cached, classOf, type Family } from './families/family.ts';
import { absent, readField, unfit } from './families/field.ts';

/** In front of the name of an unfit value. */
export const unfitMark = '\u0001';

const readerOf = cached(({ fields, dependentFields = {} }: Family) => {
  const entries = Object.entries(fields);
  const named = entries.flatMap(([name, field]) =>
    [name, field.alias ?? []].flat().map((key) => [key, { name, field }] as const),
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

/** The field that has this name in callbacks, with its own name. */
export const fieldNamed = (family: Family, name: string) => readerOf(family).byName.get(name);

/**
 * The data of a callback as it is merged, by the rules of tolerance: an unfit value goes to `extra`, an absent one is left out,
 * and so is null in a deletion.
 *
 * @param eventMs the time of its event, in milliseconds since 1970
 * @returns `data`: the callback's own object where it is merged as it is; `unfitFields`: the fields whose values do not fit
 */
export function readData(callback: AnyCallback, family: Family, eventMs: number) {
  const { byName, fromEnvelope, dependentFields } = readerOf(family);
  const isDeletion = classOf(family, callback.event) === 'deleted';
  const received = callback.data;
  const unfitFields: string[] = [];
  let changed: Record<string, unknown> | undefined;
  const data = () => {
    changed ??= { ...received };
    return changed;
  };
  for (const key in received) {
    const value = received[key];
    const documented = byName.get(key);
    if (isDeletion && value === null) delete data()[key];
    else if (documented) {
      const { name, field } = documented;
      const read = readField(field, value, eventMs);
      if (read === value && name === key) continue;
      if (name !== key) {
        delete data()[key];
        // Its own name wins.
        if (received[name] != null) continue;
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
      if (!Object.hasOwn(changed ?? received, lead)) continue;
      for (const name of others)
        if (![name, unfitMark + name].some((key) => Object.hasOwn(changed ?? received, key)))
          data()[name] = null;
    }
  return { data: changed ?? received, unfitFields };
}

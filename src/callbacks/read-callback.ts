import { type AnyCallback, envelopeMembers } from './callback.ts';
import { withoutSecrets } from './cut-secrets.ts';
import type { Delivery } from './delivery.ts';
import { canonicalJson } from './exact-json.ts';
import { cached, classOf, type Family } from './families/family.ts';
import { absent, readField, unfit } from './families/field.ts';
import { recordIdOf, versionOf } from './identify.ts';
import { createParse } from './parse.ts';
import { subjectsOf } from './subjects.ts';

interface ReadResult {
  delivery: Delivery;
  /** As received, with its secrets. */
  callback: AnyCallback;
  unfitFields: readonly string[];
}

interface ReadOptions {
  /** The family of the path (service-interface section 4.5); undefined: any that lists the event. */
  expected?: Family | undefined;
  /** In microseconds since 1970. */
  receivedAt: number;
  /** The id of a stored callback, whose secrets were cut; default: that of the body. */
  id?: string | undefined;
}

/** @param isStored it reads stored callbacks: also the receiver's own events. @throws NotJson, InvalidCallback, when called */
export function createReadCallback(families: readonly Family[], isStored = false) {
  const parse = createParse(families, isStored);
  return (body: Buffer, { expected, receivedAt, id: storedId }: ReadOptions): ReadResult => {
    const received = parse(body, expected);
    const safeBody = withoutSecrets(body, received.callback.event);
    // `data` has no secrets either; the id is that of the body as received, so that a resend has the same.
    const { callback, family, eventMs } = safeBody === body ? received : parse(safeBody, expected);
    const id = storedId ?? received.id;
    const businessId = idText(callback.business_id);
    const { data, unfitFields } = readData(callback, family, eventMs);
    const delivery: Delivery = {
      id,
      family: family.name,
      event: callback.event,
      clientId: idText(callback.client_id),
      businessId,
      recordId: recordIdOf(callback, family) ?? id,
      version: versionOf(callback, family, { eventMs, receivedAt, id }),
      eventMs,
      // From `data` with the documented names of its fields.
      subjects: subjectsOf({ data, beside: besideData(callback) }, family, businessId),
      data: data === callback.data ? null : canonicalJson(data),
      receivedAt,
      body: safeBody,
    };
    return { delivery, callback: received.callback, unfitFields };
  };
}

function besideData(callback: AnyCallback): object | undefined {
  if (Object.keys(callback).every((name) => envelopeMembers.has(name))) return undefined;
  return Object.fromEntries(Object.entries(callback).filter(([name]) => !envelopeMembers.has(name)));
}

const idText = (id: unknown): string => (id == null ? '' : String(id));

/** In front of the name of an unfit value in merged data. */
export const unfitMark = '\u0001';

const readerOf = cached(({ fields, dependentFields = {} }: Family) => {
  const entries = Object.entries(fields);
  const named = entries.flatMap(([name, field]) =>
    [name, field.alias ?? []].flat().map((key) => [key, { name, field }] as const),
  );
  return {
    byName: new Map(named),
    fromEnvelope: entries.flatMap(([name, { fromEnvelope }]) =>
      fromEnvelope ? [[name, fromEnvelope] as const] : [],
    ),
    dependentFields: Object.entries(dependentFields),
  };
});

/** The field that has this name, or alias, in callbacks, with its own name. */
export const fieldNamed = (family: Family, name: string) => readerOf(family).byName.get(name);

/** The data as it is merged. It is the callback's own object where nothing changes. */
function readData(callback: AnyCallback, family: Family, eventMs: number) {
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

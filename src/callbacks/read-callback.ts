import { type AnyCallback, envelopeMembers } from './callback.ts';
import { withoutSecrets } from './cut-secrets.ts';
import type { Delivery } from './delivery.ts';
import { canonicalJson } from './exact-json.ts';
import { cached, classOf, type Family } from './families/family.ts';
import { isMeaningless, unfitMark } from './families/field.ts';
import { recordIdOf, versionOf } from './identify.ts';
import { createParse, type ParsedCallback } from './parse.ts';
import { subjectsOf } from './subjects.ts';

export interface ReadResult {
  delivery: Delivery;
  callback: AnyCallback;
  /** Where none lists the event, the one that takes every event. */
  family: Family;
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
    const parsed = safeBody === body ? received : parse(safeBody, expected);
    const { callback, family, eventMs, unfitFields } = parsed;
    const id = storedId ?? received.id;
    const businessId = idText(callback.business_id);
    const data = mergedData(parsed);
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
      data: parsed.isAsReceived && data === callback.data ? null : canonicalJson(data),
      receivedAt,
      body: safeBody,
    };
    return { delivery, callback, family, unfitFields };
  };
}

function besideData(callback: AnyCallback) {
  if (Object.keys(callback).every((name) => envelopeMembers.has(name))) return undefined;
  return Object.fromEntries(Object.entries(callback).filter(([name]) => !envelopeMembers.has(name)));
}

const idText = (id: unknown): string => (id == null ? '' : String(id));

const stepsOf = cached(({ fields, dependentFields = {} }: Family) => ({
  actionTimes: Object.entries(fields).filter(([, { isActionTime }]) => isActionTime),
  fromEnvelope: Object.entries(fields).flatMap(([name, { fromEnvelope }]) =>
    fromEnvelope ? [[name, fromEnvelope] as const] : [],
  ),
  dependentFields: Object.entries(dependentFields),
}));

/** The data as it is merged: what a schema cannot say of one field. It is the callback's own object where nothing changes. */
function mergedData({ callback, family, eventMs }: ParsedCallback): Readonly<Record<string, unknown>> {
  const { actionTimes, fromEnvelope, dependentFields } = stepsOf(family);
  const isDeletion = classOf(family, callback.event) === 'deleted';
  const { data } = callback;
  let changed: Record<string, unknown> | undefined;
  const own = () => {
    changed ??= { ...data };
    return changed;
  };
  if (isDeletion) for (const name in data) if (data[name] === null) delete own()[name];
  for (const [name, field] of actionTimes) if (isMeaningless(field, data[name], eventMs)) delete own()[name];
  for (const [name, read] of fromEnvelope) {
    const value = read(callback);
    if (value !== undefined) own()[name] = value;
  }
  if (!isDeletion)
    for (const [lead, others] of dependentFields) {
      if (!Object.hasOwn(changed ?? data, lead)) continue;
      for (const name of others)
        if (![name, unfitMark + name].some((key) => Object.hasOwn(changed ?? data, key))) own()[name] = null;
    }
  return changed ?? data;
}

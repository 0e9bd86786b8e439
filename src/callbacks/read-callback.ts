import { type AnyCallback, envelopeMembers } from './callback.ts';
import { canonicalJson } from './canonical-json.ts';
import { withoutSecrets } from './cut-secrets.ts';
import type { Delivery } from './delivery.ts';
import type { Family } from './families/family.ts';
import { recordIdOf, versionOf } from './identify.ts';
import { createParse } from './parse.ts';
import { readData } from './read-data.ts';
import { subjectsOf } from './subjects.ts';

export interface ReadResult {
  delivery: Delivery;
  /** As received, with its secrets. */
  callback: AnyCallback;
  /** The fields whose values do not fit their columns. */
  unfitFields: readonly string[];
}

export interface ReadOptions {
  /** The family of the path (service-interface section 4.5); undefined: any that lists the event. */
  expected?: Family | undefined;
  /** In microseconds since 1970. */
  receivedAt: number;
  /** The id of a stored callback, whose secrets were cut; default: that of the body. */
  id?: string | undefined;
}

export type ReadCallback = (body: Buffer, options: ReadOptions) => ReadResult;

/**
 * Creates the function that reads a callback: parses, validates and identifies it, and cuts its secrets.
 *
 * @param isStored it reads stored callbacks: also the receiver's own events
 * @throws NotJson, InvalidCallback
 */
export function createReadCallback(families: readonly Family[], isStored = false): ReadCallback {
  const parse = createParse(families, isStored);
  return (body, { expected, receivedAt, id: storedId }) => {
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

/** The undocumented members of the envelope. */
function besideData(callback: AnyCallback): object | undefined {
  if (Object.keys(callback).every((name) => envelopeMembers.has(name))) return undefined;
  return Object.fromEntries(Object.entries(callback).filter(([name]) => !envelopeMembers.has(name)));
}

/** An id of the envelope; empty where it is absent. */
const idText = (id: unknown): string => (id == null ? '' : String(id));

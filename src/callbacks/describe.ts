import { type AnyCallback, envelopeMembers } from './callback.ts';
import { canonicalJson } from './canonical-json.ts';
import { recordIdOf, versionedBy, versionOf } from './identify.ts';
import type { Parsed } from './parse.ts';
import { readData } from './read-data.ts';
import { subjectsOf } from './subjects.ts';

/** What a callback is as a row of inbox, but for its body. @param id as it is stored: secrets may be gone since */
export function describe(parsed: Parsed, receivedAt: number, id = parsed.id) {
  const { callback, family, eventMs } = parsed;
  const businessId = idText(callback.business_id);
  const { data, misfits } = readData(callback, family, eventMs);
  return {
    id,
    family: family.name,
    event: callback.event,
    clientId: idText(callback.client_id),
    businessId,
    recordId: recordIdOf(callback, family) ?? id,
    version: versionOf(versionedBy(callback, family, eventMs, receivedAt, id)),
    eventMs,
    // With what its fields are called in the documents.
    subjects: subjectsOf({ data, beside: besideData(callback) }, family, businessId),
    data: data === callback.data ? null : canonicalJson(data),
    receivedAt,
    misfits,
  };
}

/** Members of the envelope that no document names. */
function besideData(callback: AnyCallback): object | undefined {
  const names = Object.keys(callback).filter((name) => !envelopeMembers.has(name));
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, callback[name as keyof AnyCallback]]));
}

/** An id of the envelope; empty where none is given. */
export const idText = (id: unknown): string => (id == null ? '' : String(id));

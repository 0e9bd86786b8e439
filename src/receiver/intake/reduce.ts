import { uuidV8 } from '../../common/uuid.ts';
import { type AnyCallback, publicMembers } from '../families/callback.ts';
import type { Family } from '../families/family.ts';
import { kinds, misfit } from '../families/field.ts';
import { canonicalJson } from './canonical-json.ts';
import { Decimal, withDecimals } from './decimal.ts';
import type { Delivery } from './delivery.ts';
import { hashedPrefix, reducedMark } from './find-reductions.ts';
import { versionWith } from './identify.ts';
import { fieldNamed } from './read-data.ts';

/**
 * A callback without what is personal: each personal key becomes null, because without the key an earlier person would come
 * back. Unknown keys count as personal, and so do `transaction_id`, `partition_id` and the data of unknown events. It has a
 * new id, which follows from the old one, and goes on naming by salted hashes.
 *
 * @param names the salted hashes of those that it names
 */
export function reduce(
  delivery: Delivery,
  family: Family | undefined,
  names: readonly string[],
  hash: (text: string) => string,
): Delivery {
  // A record of its own is merged with nothing: no key has to take an earlier value away, and a key may be an id.
  const isKept = (key: string) => family && (family.identifiedBy ?? fieldNamed(family, key)) !== undefined;
  const reduceData = (data: Record<string, unknown>) => {
    const kept = Object.entries(data).filter(([key]) => isKept(key));
    return mapValues(Object.fromEntries(kept), (key, value) =>
      isPublicValue(family, key, value) ? value : null,
    );
  };
  const parse = (json: string) => withDecimals(json, JSON.parse(json)) as Record<string, unknown>;
  const envelope = parse(delivery.body.toString()) as unknown as AnyCallback;
  const reduced = mapValues(envelope, (key, value) => {
    if (key === 'data') return reduceData(envelope.data);
    return isPublicMember(key, value) ? value : null;
  });
  const id = uuidV8(delivery.id.slice(0, 13).replace('-', ''), hash(`reduced:${delivery.id}`));
  return {
    ...delivery,
    id,
    recordId: delivery.recordId === delivery.id ? id : delivery.recordId,
    version: versionWith(delivery.version, id),
    subjects: [
      reducedMark,
      ...new Set(names.map((name) => hashedPrefix + name)),
      ...delivery.subjects.filter((subject) => subject.startsWith('r:')),
    ],
    body: Buffer.from(canonicalJson(reduced)),
    data: delivery.data === null ? null : canonicalJson(reduceData(parse(delivery.data))),
  };
}

/** Whether a member of a callback has nothing personal. */
export const isPublicMember = (name: string, value: unknown): boolean =>
  publicMembers.has(name) && isScalar(value);

/** Whether a value of `data` has nothing personal. What does not fit its field may be anything. */
export function isPublicValue(family: Family | undefined, name: string, value: unknown): boolean {
  const { field } = (family && fieldNamed(family, name)) ?? {};
  if (field?.personal !== false) return false;
  // What is declared as a code may be an object with a name.
  return (field.kind === 'nested' || isScalar(value)) && kinds[field.kind].read(value) !== misfit;
}

const isScalar = (value: unknown) => typeof value !== 'object' || value instanceof Decimal;

const mapValues = (from: object, map: (key: string, value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(from).map(([key, value]) => [key, map(key, value)]));

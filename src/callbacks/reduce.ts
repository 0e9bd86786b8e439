import { type AnyCallback, envelopeMembers, publicMembers } from './callback.ts';
import type { Delivery } from './delivery.ts';
import { canonicalJson, Decimal, withDecimals } from './exact-json.ts';
import { type Family, fieldNamed } from './families/family.ts';
import { type Field, schemaOf } from './families/field.ts';
import { uuidV8, versionWith } from './identify.ts';

/** Among the subjects of a reduced callback. */
export const reducedMark = 'reduced';
export const isReduced = ({ subjects }: { subjects: readonly string[] }) => subjects.includes(reducedMark);
/** A salted hash of a patient, among the subjects of a reduced callback. */
export const hashedPrefix = 'e:';

export const reducedId = (id: string, hash: (text: string) => string): string =>
  uuidV8(id.slice(0, 13).replace('-', ''), hash(`reduced:${id}`));

/**
 * A callback without what is personal, with a new id: each personal field becomes null, because without the key an earlier
 * person would come back. Unknown keys, which may be names themselves, are removed.
 *
 * @param patientHashes salted; they stay in place of its patients
 */
export function reduce(
  delivery: Delivery,
  family: Family | undefined,
  patientHashes: readonly string[],
  hash: (text: string) => string,
): Delivery {
  const reduceData = (data: Record<string, unknown>) =>
    mapKnown(data, (key, value) => {
      const field = family && fieldNamed(family, key);
      return field && (isPublicValue(field, value) ? value : null);
    });
  const parse = (json: string) => withDecimals(json, JSON.parse(json)) as Record<string, unknown>;
  const envelope = parse(delivery.body.toString()) as unknown as AnyCallback;
  const reduced = mapKnown(envelope, (key, value) => {
    if (key === 'data') return reduceData(envelope.data);
    if (publicMembers.has(key) && isScalar(value)) return value;
    return envelopeMembers.has(key) ? null : undefined;
  });
  const id = reducedId(delivery.id, hash);
  return {
    ...delivery,
    id,
    recordId: delivery.recordId === delivery.id ? id : delivery.recordId,
    version: versionWith(delivery.version, id),
    subjects: [
      reducedMark,
      ...new Set(patientHashes.map((patient) => hashedPrefix + patient)),
      ...delivery.subjects.filter((subject) => subject.startsWith('r:')),
    ],
    body: Buffer.from(canonicalJson(reduced)),
    data: delivery.data === null ? null : canonicalJson(reduceData(parse(delivery.data))),
  };
}

/** An unfit value of `data` may be anything, so it is not public. */
function isPublicValue(field: Field, value: unknown): boolean {
  if (field.personal !== false) return false;
  // What is declared as a code may be an object with a name.
  return (field.kind === 'nested' || isScalar(value)) && schemaOf(field).safeParse(value).success;
}

const isScalar = (value: unknown) => typeof value !== 'object' || value instanceof Decimal;

function mapKnown(from: object, map: (key: string, value: unknown) => unknown) {
  const mapped = Object.entries(from).map(([key, value]) => [key, map(key, value)] as const);
  return Object.fromEntries(mapped.filter(([, value]) => value !== undefined));
}

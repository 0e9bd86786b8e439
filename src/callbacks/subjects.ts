import { cached, type Family } from './families/family.ts';
import { isContainer, keyText, unfitMark } from './families/field.ts';

// Whom a callback names: `p:<kind>:<id>` for each id of a patient, however nested. Kinds: `platform`; `partner`, whose ids
// are those of a business; `abha`. And `r:<family>:<business>:<record>` for each other record that it refers to. Erasures,
// exports, holds, the search by patient and the gate read this and nothing else.

type KeyKind = 'platform' | 'partner' | 'abha';
type IdKind = KeyKind | 'patient' | 'other';

/** Keys that name a patient, or others, without case and separators. */
const keysOfKinds: [IdKind, string][] = [
  ['platform', 'patientoid patientid pid oid'],
  ['partner', 'partnerpatientid'],
  ['abha', 'abhaaddress abhanumber'],
  // A text under these is an id, too. Under all kinds, an object names a patient by its `id`.
  ['patient', 'patient patients'],
  // An `oid` in these is that of a doctor, of staff, or of a place.
  ['other', 'doc doctor doctors refer by addedby completedby facility department'],
];
const keyKinds = new Map(
  keysOfKinds.flatMap(([kind, keys]) => keys.split(' ').map((key) => [key, kind] as const)),
);
// Also of an unfit value, whose name is behind a mark.
const plain = (key: string) =>
  key
    .replace(unfitMark, '')
    .toLowerCase()
    .replace(/[_\-. ]/g, '');

// Nearly every key was seen before. Senders choose keys: their number and length are limited.
const seen = new Map<string, IdKind | undefined>();
const maxSeen = 2_000;
const maxKeyLength = 40;

function kindOf(key: string): IdKind | undefined {
  if (key.length > maxKeyLength) return undefined;
  if (seen.has(key)) return seen.get(key);
  const kind = keyKinds.get(plain(key));
  if (seen.size < maxSeen) seen.set(key, kind);
  return kind;
}

const maxIdLength = 200;

/** What JavaScript trims from an id, for SQL. */
export const spaces =
  ' \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

/** @returns undefined: it is no id */
export function patientSubject(kind: KeyKind, id: unknown, businessId: string): string | undefined {
  const text = (typeof id === 'string' ? id : keyText({ kind: 'text' }, id))?.trim();
  if (!text || text.length > maxIdLength) return undefined;
  if (kind === 'platform') return `p:platform:${text}`;
  if (kind === 'partner') return `p:partner:${businessId}:${text}`;
  // As people type it: with blanks, hyphens of any kind, or fullwidth digits.
  return `p:abha:${text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{Pd}\p{Cf}\u2212]/gu, '')}`;
}

export const recordSubject = (family: string, businessId: string, recordId: string): string =>
  `r:${family}:${businessId}:${recordId}`;

type Values = Readonly<Record<string, unknown>>;

/** Where a row has the platform's id of its patient: a field, or a key of a nested one, such as `patient.id`. */
export function patientIdOf({ fields }: Family): string | undefined {
  const own = Object.keys(fields).find((name) => kindOf(name) === 'platform');
  return own ?? (fields.patient && 'patient.id');
}

/** At any depth, in linear time and without a stack. @param callback `beside`: undocumented members of its envelope */
export function subjectsOf(
  { data, beside }: { data: Values; beside?: Values | undefined },
  family: Family,
  businessId: string,
): string[] {
  const subjects = new Set<string>();
  const add = (kind: IdKind, id: unknown) => {
    if (kind === 'other') return;
    const subject = patientSubject(kind === 'patient' ? 'platform' : kind, id, businessId);
    if (subject) subjects.add(subject);
  };
  const containers: Values[] = beside ? [data, beside] : [data];
  const kinds: (IdKind | undefined)[] = containers.map(() => undefined);
  for (let node = containers.pop(); node; node = containers.pop()) {
    const under = kinds.pop();
    if (Array.isArray(node)) {
      for (const item of node) {
        if (isContainer(item)) {
          containers.push(item);
          kinds.push(under);
        } else if (under) add(under, item);
      }
      continue;
    }
    for (const name in node) {
      const inner = node[name];
      const kind = under === 'other' && plain(name) === 'oid' ? undefined : kindOf(name);
      if (isContainer(inner)) {
        containers.push(inner);
        kinds.push(kind ?? (under === 'other' ? under : undefined));
      } else if (kind) add(kind, inner);
      else if (under && name.length <= maxKeyLength && ['id', '$oid'].includes(plain(name)))
        add(under, inner);
    }
    // {type: 'ABHA_NUMBER', value}
    const kind = typeof node.type === 'string' ? kindOf(node.type) : undefined;
    if (kind && kind !== 'patient') add(kind, node.value);
  }
  for (const [name, field] of referencesOf(family.fields)) {
    const id = data[name] == null ? undefined : keyText(field, data[name]);
    if (id) subjects.add(recordSubject(field.refersTo!, businessId, id));
  }
  return [...subjects];
}

const referencesOf = cached((fields: Family['fields']) =>
  Object.entries(fields).filter(([, { refersTo }]) => refersTo),
);

import { Decimal } from '../receiver/intake/decimal.ts';

/** The spellings of a patient's id in the data of a callback (service-interface section 2), as in the function patient_of. */
export const patientFields = ['patient_oid', 'patientid', 'patient_id', 'pid'] as const;

/**
 * The keys under which a callback names a patient, wherever they are: every kind that the platform uses. Case and separators
 * do not matter. Under the last two, an object names one with its `id`. The migration 0017 has the same list, for callbacks
 * that were stored before.
 */
export const patientKeys = [
  ...patientFields,
  'oid',
  'partner_patient_id',
  'abha_address',
  'abha_number',
  'patient',
  'patients',
] as const;

const plain = (key: string) => key.toLowerCase().replace(/[_\-. ]/g, '');
const plainKeys = new Set(patientKeys.map(plain));

// Nearly every key was seen before. Limited, because senders choose them.
const known = new Map<string, string | false>();
const maxKnown = 2_000;

/** The key as `visitPatients` tells it; false: it names no patient. */
function keyOf(key: string): string | false {
  const seen = known.get(key);
  if (seen !== undefined) return seen;
  const name = plain(key);
  const result = plainKeys.has(name) && name;
  if (known.size < maxKnown) known.set(key, result);
  return result;
}

// A longer text is no id: as in the functions of the database.
const maxLength = 200;

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof Decimal);

/** An id as text, a number without exponent and fraction; undefined: it is neither a text nor a number. */
export function idAsText(id: unknown): string | undefined {
  if (typeof id === 'string') return id.trim();
  if (typeof id === 'number') return String(id);
  // Too many digits for a double.
  const [, digits, zeros] = (id instanceof Decimal && /^(\d+)e(\d{1,2})$/.exec(id.canonical)) || [];
  return digits && digits + '0'.repeat(Number(zeros));
}

/**
 * Visits every place where parsed JSON names a patient: a text or a number under one of the keys, at any depth, and
 * `{type: 'ABHA_NUMBER', value}`. It takes linear time and no stack.
 *
 * @param visit called with the key without case and separators, such as `partnerpatientid`, or `id` for that of an object
 *   under one of the keys; the id, trimmed; and the object that has the key
 */
export function visitPatients(
  value: unknown,
  visit: (key: string, id: string, within: object) => void,
): void {
  const found = (key: string, id: unknown, within: object) => {
    const text = idAsText(id);
    if (text && text.length <= maxLength) visit(key, text, within);
  };
  const containers: object[] = isContainer(value) ? [value] : [];
  const keys: (string | false)[] = [false];
  for (let node = containers.pop(); node; node = containers.pop()) {
    const under = keys.pop()!;
    if (Array.isArray(node)) {
      for (const item of node) {
        if (isContainer(item)) {
          containers.push(item);
          keys.push(under);
        } else if (under) found(under, item, { item });
      }
      continue;
    }
    const fields = node as Record<string, unknown>;
    for (const name in fields) {
      const inner = fields[name];
      const key = keyOf(name);
      if (isContainer(inner)) {
        containers.push(inner);
        keys.push(key);
      } else if (key) found(key, inner, node);
      else if (under && plain(name) === 'id') found('id', inner, node);
    }
    const key = typeof fields.type === 'string' && keyOf(fields.type);
    if (key) found(key, fields.value, node);
  }
}

/** The ids of all patients that parsed JSON names, each once. */
export function patientsIn(value: unknown): string[] {
  const ids = new Set<string>();
  visitPatients(value, (_, id) => ids.add(id));
  return [...ids];
}

/**
 * The ids of all patients that a callback names, unless the function patient_of tells all there is: for the column
 * `inbox.patients`. Most callbacks have none.
 */
export function patientsBeyond(envelope: { data?: unknown }): string[] | undefined {
  const data = (envelope.data ?? {}) as Record<string, unknown>;
  let main: unknown;
  for (const field of patientFields) {
    main = data[field];
    if (main !== undefined && main !== null && main !== '') break;
  }
  let first: string | undefined;
  let all: Set<string> | undefined;
  visitPatients(envelope, (_, id) => {
    if (first === undefined) first = id;
    else if (id !== first) {
      all ??= new Set([first]);
      all.add(id);
    }
  });
  if (all) return [...all];
  // PostgreSQL keeps the zeros of 1.0, which JSON.parse does not tell.
  return first === undefined || first === main ? undefined : [first];
}

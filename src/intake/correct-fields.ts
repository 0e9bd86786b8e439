import { titled } from '../common/words.ts';
import { type Family, isPublicField, labelOf, publicEnvelopeFields } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import { changeFields, valueAt } from './correction.ts';
import type { Intake } from './intake.ts';
import type { QuarantinedBody } from './list-quarantine.ts';
import type { FieldError } from './rejection.ts';

/** A field of a rejected body. */
export interface BodyField {
  /** A JSON pointer, which is its name in the form too. */
  path: string;
  label: string;
  /** What is wrong with it; empty: nothing. */
  messages: string;
  /** Its value as JSON; empty: it is not there, or is hidden. */
  value: string;
  /** Its value may be personal data. An empty entry leaves it as it is. */
  hidden: boolean;
}

interface Shown {
  families: readonly Family[];
  /** Whether personal data may be shown. */
  revealed: boolean;
}

/**
 * The fields that the errors name, and the others; all of them empty: the body is no JSON, or an error is not about a field.
 * Other hidden fields are shown where they are documented: the names of the rest may be personal too.
 */
export function fieldsOfBody(body: Buffer, errors: readonly FieldError[], { families, revealed }: Shown) {
  const document = parseJson(body.toString());
  const faulty = [...new Set(errors.map(({ path }) => path))];
  if (!isObject(document) || faulty.some((path) => !path || /…|<key>/.test(path))) {
    return { faulty: [], others: [] };
  }
  const fieldAt = (path: string): BodyField => {
    const value = valueAt(document, path);
    const [, field, nested] = /^\/data\/(\w+)(\/.+)?$/.exec(path) ?? [];
    const isPublic = field
      ? !nested && isPublicField(families, field)
      : publicEnvelopeFields.has(path.slice(1));
    const isShown = value !== undefined && (revealed || (isPublic && isImpersonal(value)));
    const json = isShown ? JSON.stringify(value) : '';
    const family = families.find(({ fields }) => field && Object.hasOwn(fields, field));
    const name = family && field && !nested ? labelOf(family, field) : titled(path.split('/').at(-1)!);
    const messages = errors.flatMap((error) => (error.path === path ? error.message : [])).join('; ');
    return {
      path,
      label: `${name} · ${path}`,
      messages: json && json.length <= 60 ? messages.replace(/, got [a-z ]+$/, `, got ${json}`) : messages,
      value: json,
      hidden: value !== undefined && !isShown,
    };
  };
  const { data, ...envelope } = document;
  const paths = [
    ...Object.keys(envelope).map((name) => `/${name}`),
    ...(isObject(data) ? Object.keys(data).map((name) => `/data/${name}`) : []),
  ];
  const isDocumented = (path: string) =>
    publicEnvelopeFields.has(path.slice(1)) ||
    families.some(({ fields }) => Object.hasOwn(fields, path.slice('/data/'.length)));
  const others = paths
    .filter((path) => /^(\/data)?\/[^/~]+$/.test(path) && (revealed || isDocumented(path)))
    .filter((path) => !faulty.some((one) => `${one}/`.startsWith(`${path}/`)));
  return { faulty: faulty.map(fieldAt), others: others.map(fieldAt) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number, a time or the name of an event, such as receipt.created. */
const impersonal = /^([\d\s.,:+/TZ-]*|[a-z_]+(\.[a-z_]+)+)$/;

/** Whether a rejected value cannot name a patient, whatever its field: it may be that of another field. */
const isImpersonal = (value: unknown) =>
  ['number', 'boolean'].includes(typeof value) ||
  value === null ||
  (typeof value === 'string' && impersonal.test(value));

function readChanges(form: Record<string, unknown>, fields: readonly BodyField[]) {
  const changes: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const { path, value } of fields) {
    const entered = String(form[path] ?? value).trim();
    if (entered === value) continue;
    changes[path] = entered;
    if (entered && parseJson(entered) === undefined) {
      faults[path] = 'It is not JSON: write a text in double quotes, and a number without.';
    }
  }
  return { changes, faults };
}

interface CorrectOptions extends Shown {
  db: Db;
  intake: Pick<Intake, 'replay'>;
}

/**
 * Puts what was entered into the fields of a rejected body that may be corrected: the faulty ones, or all that are shown.
 *
 * @param entered by path: JSON, or an empty text for no value
 * @returns the corrected `body`, unless there are `faults` by path or PostgreSQL cannot read it; with the paths that were
 *   `changed`, and the `errors` found on the way: without an earlier one, others are found, whose fields can be corrected too
 */
export async function correctFields(
  { body, path, errors: known }: Pick<QuarantinedBody, 'body' | 'path' | 'errors'>,
  entered: Record<string, unknown>,
  { db, intake, ...shown }: CorrectOptions,
) {
  let errors = known;
  for (;;) {
    const { faulty, others } = fieldsOfBody(body, errors, shown);
    const { changes, faults } = readChanges(entered, shown.revealed ? [...faulty, ...others] : faulty);
    const changed = Object.keys(changes);
    if (Object.keys(faults).length > 0) return { errors, changed, faults };
    const corrected = changed.length > 0 ? await changeFields(db, body, changes) : body;
    if (!corrected) return { errors, changed };
    const assessed = await intake.replay(corrected, path, { dryRun: true });
    const found = assessed.outcome === 'rejected' ? assessed.errors : [];
    const further = found.filter((one) => one.path && !errors.some((error) => error.path === one.path));
    errors = [...errors, ...further];
    if (!further.some((one) => entered[one.path] !== undefined)) return { errors, changed, body: corrected };
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

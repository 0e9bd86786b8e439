import { type Family, publicEnvelopeFields } from '../../families/index.ts';
import { valueAt } from '../../intake/correction.ts';
import type { FieldError } from '../../intake/rejection.ts';
import { isPublicField } from '../redact.ts';

/** A field of a rejected body that can be corrected without seeing the rest. */
export interface CorrectableField {
  /** A JSON pointer, which is its name in the form too. */
  path: string;
  messages: string;
  /** Its value as JSON; empty: it is not there, or is hidden. */
  value: string;
  /** Its value may be personal data. An empty entry leaves it as it is. */
  hidden: boolean;
}

/** The fields that the errors name; none: the body is no JSON, or an error is not about a field. */
export function correctableFields(
  body: Buffer,
  errors: readonly FieldError[],
  families: readonly Family[],
): CorrectableField[] {
  const paths = [...new Set(errors.map(({ path }) => path))];
  const document = parseJson(body.toString());
  if (!document || paths.some((path) => !path || /…|<key>/.test(path))) return [];
  return paths.map((path) => {
    const value = valueAt(document, path);
    const [, field, nested] = /^\/data\/(\w+)(\/.+)?$/.exec(path) ?? [];
    const isPublic = field
      ? !nested && isPublicField(families, field)
      : publicEnvelopeFields.has(path.slice(1));
    const isShown = isPublic && isImpersonal(value);
    return {
      path,
      messages: errors.flatMap((error) => (error.path === path ? error.message : [])).join('; '),
      value: isShown ? JSON.stringify(value) : '',
      hidden: value !== undefined && !isShown,
    };
  });
}

/** A number, a time or the name of an event, such as receipt.created. */
const impersonal = /^([\d\s.,:+/TZ-]*|[a-z_]+(\.[a-z_]+)+)$/;

/** Whether a rejected value cannot name a patient, whatever its field: it may be that of another field. */
const isImpersonal = (value: unknown) =>
  ['number', 'boolean'].includes(typeof value) ||
  value === null ||
  (typeof value === 'string' && impersonal.test(value));

/** What was entered into a form, by path: JSON, or an empty text for no value. */
export function readChanges(form: Record<string, unknown>, fields: readonly CorrectableField[]) {
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

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

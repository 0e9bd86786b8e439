import { Decimal } from './exact-json.ts';
import { type FieldError, pointer } from './rejection.ts';

const maxDepth = 64;
// A body may have a fault in every other byte.
const maxErrors = 20;

// Cheap checks that rule out nearly every callback; only the others are searched.
const mayBreakText = /\ufeff|\\u(?:0000|d[89a-f]|feff)/i;

/** Finds what jsonb rejects of valid JSON: U+0000, unpaired surrogates, and deep nesting; and names with U+FEFF. */
export const findUnstorable = (json: string, value: unknown): FieldError[] =>
  mayBeTooDeep(json) || mayBreakText.test(json) ? walk(value) : [];

export const findUnstorableNumbers = (value: unknown): FieldError[] => walk(value);

function mayBeTooDeep(json: string): boolean {
  let brackets = 0;
  for (const bracket of ['{', '[']) {
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1)) {
      brackets += 1;
      if (brackets > maxDepth) return true;
    }
  }
  return false;
}

/** @param path one list for all values */
function walk(value: unknown, path: string[] = [], errors: FieldError[] = []): FieldError[] {
  if (typeof value !== 'object' || value === null || value instanceof Decimal) {
    note(check(value), path, errors);
  } else if (path.length >= maxDepth) {
    note(`must not be nested deeper than ${maxDepth} levels`, path.slice(0, 2), errors);
  } else {
    for (const [key, inner] of Object.entries(value)) {
      if (errors.length >= maxErrors) return errors;
      note(check(key), path, errors);
      path.push(key);
      // The first column of a sender's table may begin with a byte order mark: then no field would have its value.
      if (path.length <= 2 && key.includes('\ufeff')) note('must not have U+FEFF in its name', path, errors);
      walk(inner, path, errors);
      path.pop();
    }
  }
  return errors;
}

function note(message: string | undefined, path: readonly string[], errors: FieldError[]): void {
  if (message && errors.length < maxErrors) errors.push({ path: pointer(path), message });
}

function check(value: unknown): string | undefined {
  if (value instanceof Decimal && !value.isStorable) {
    return 'must be in the range of a double, with an exponent from -400 to 400 and at most 16383 digits after the point';
  }
  if (typeof value !== 'string') return undefined;
  if (value.includes('\0')) return 'must not contain U+0000';
  return value.isWellFormed() ? undefined : 'must not contain an unpaired surrogate';
}

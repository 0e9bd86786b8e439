import { Decimal } from '../decimal.ts';
import { type FieldError, pointer } from './rejection.ts';

const deepest = 64;
// An answer names so many faults of a body and no more: a body may have one in every other byte.
const mostErrors = 20;

// Cheap looks at the text, which nearly every callback passes; only the others are walked through.
const mayBreakText = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * Finds the strings and the depth that PostgreSQL's jsonb cannot hold, though they are valid JSON: U+0000, half
 * surrogate pairs, and deep nesting.
 *
 * @param json the text, and the value that it was parsed to
 */
export function findUnstorable(json: string, value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  if (mayBeTooDeep(json) || mayBreakText.test(json)) walk(value, [], checkText, errors);
  return errors;
}

/** Finds the Decimals that must not be stored. */
export function findUnstorableNumbers(value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  walk(value, [], checkDecimal, errors);
  return errors;
}

function mayBeTooDeep(json: string): boolean {
  let opened = 0;
  for (const bracket of ['{', '[']) {
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1)) {
      opened += 1;
      if (opened > deepest) return true;
    }
  }
  return false;
}

type Check = (value: unknown) => string | undefined;

/** @param path of the value; the same list serves for all of them */
function walk(value: unknown, path: string[], check: Check, errors: FieldError[]): void {
  if (typeof value !== 'object' || value === null || value instanceof Decimal) {
    note(check(value), path, errors);
  } else if (path.length >= deepest) {
    note(`must not nest deeper than ${deepest} levels`, path.slice(0, 2), errors);
  } else {
    for (const [key, inner] of Object.entries(value)) {
      if (errors.length >= mostErrors) return;
      note(check(key), path, errors);
      path.push(key);
      walk(inner, path, check, errors);
      path.pop();
    }
  }
}

function note(message: string | undefined, path: readonly string[], errors: FieldError[]): void {
  if (message && errors.length < mostErrors) errors.push({ path: pointer(path), message });
}

function checkText(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  if (text.includes('\0')) return 'must not hold U+0000';
  return text.isWellFormed() ? undefined : 'must not hold half of a surrogate pair';
}

function checkDecimal(value: unknown): string | undefined {
  if (!(value instanceof Decimal) || value.isStorable) return undefined;
  return 'must lie in the range of a double, with an exponent from -400 to 400 and at most 16383 digits after the point';
}

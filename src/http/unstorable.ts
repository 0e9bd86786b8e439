import type { FieldError } from './errors.ts';
import { findInexactNumbers } from './inexact-numbers.ts';
import { pointer } from './pointer.ts';

const deepest = 64;

// Cheap looks at the text, which nearly every callback passes; only the others are walked through.
const mayBreakText = /\\u(?:0000|[dD][89a-fA-F])/;
const mayBeInexact = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;

/**
 * Finds what PostgreSQL's jsonb or a 64-bit number cannot hold exactly, though it is valid JSON: U+0000 and
 * half surrogate pairs in strings, numbers with more digits than a double keeps, and deep nesting.
 *
 * @param json the text, and the value that it was parsed to
 */
export function findUnstorable(json: string, value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  if (mayBeTooDeep(json) || mayBreakText.test(json)) walk(value, [], errors);
  if (mayBeInexact.test(json) && errors.length === 0) {
    for (const path of findInexactNumbers(json)) {
      errors.push({ path, message: 'has more digits than a 64-bit number keeps; send it as a string' });
    }
  }
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

function walk(value: unknown, path: (string | number)[], errors: FieldError[]): void {
  if (typeof value === 'string') {
    checkText(value, path, errors);
  } else if (typeof value === 'object' && value !== null) {
    if (path.length >= deepest) {
      errors.push({
        path: pointer(path.slice(0, 2)),
        message: `must not nest deeper than ${deepest} levels`,
      });
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      checkText(key, path, errors);
      walk(inner, [...path, key], errors);
    }
  }
}

function checkText(text: string, path: (string | number)[], errors: FieldError[]): void {
  if (text.includes('\0')) errors.push({ path: pointer(path), message: 'must not hold U+0000' });
  if (!text.isWellFormed()) {
    errors.push({ path: pointer(path), message: 'must not hold half of a surrogate pair' });
  }
}

import { Decimal } from './exact-json.ts';

const maxDepth = 64;

export const unstorable =
  'must not have U+0000, an unpaired surrogate, more than 64 levels, nor a number outside the range of a double, with an exponent beyond ±400 or more than 16383 digits after the point';

// Cheap checks that rule out nearly every callback; only the others are searched.
const mayBreakText = /\\u(?:0000|d[89a-f])/i;

/** Whether jsonb may reject valid JSON for a text in it, or deep nesting. */
export const mayBeUnstorable = (json: string): boolean => mayBeTooDeep(json) || mayBreakText.test(json);

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

export function isStorable(value: unknown, depth = 0): boolean {
  if (value instanceof Decimal) return value.isStorable;
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= maxDepth) return false;
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner, depth + 1));
}

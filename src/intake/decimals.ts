import { Decimal } from '../families/decimal.ts';
import { idAsText } from '../families/patients.ts';

// A cheap check that rules out nearly every callback: sixteen digits, or an exponent.
const mayContainDecimals = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;
// Matches quotes, not strings: a pattern for a whole string would use memory for each of its escapes.
const token = /\\.|"|-?\d[\d.eE+-]*/g;

/**
 * The value of JSON.parse, with a Decimal for each number that a double cannot represent.
 *
 * @param json valid JSON without U+0000, which marks those numbers during parsing
 * @param value the result of JSON.parse
 */
export function withDecimals(json: string, value: unknown): unknown {
  if (!mayContainDecimals.test(json)) return value;
  const decimals: Decimal[] = [];
  let inString = false;
  const marked = json.replace(token, (text) => {
    if (text === '"') inString = !inString;
    if (inString || text === '"') return text;
    const decimal = Decimal.of(text);
    return decimal ? `"\\u0000${decimals.push(decimal) - 1}"` : text;
  });
  if (decimals.length === 0) return value;
  return JSON.parse(marked, (_, inner) =>
    typeof inner === 'string' && inner[0] === '\0' ? decimals[Number(inner.slice(1))] : inner,
  );
}

/** A number of JSON without exponent and fraction, as an id is written; the literal itself where it is no such number. */
export function integerOf(literal: string): string {
  return /^-?\d+$/.test(literal) ? literal : (idAsText(Decimal.of(literal) ?? Number(literal)) ?? literal);
}

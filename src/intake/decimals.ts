import { Decimal } from '../decimal.ts';

// A cheap look at the text, which nearly every callback passes: sixteen digits, or an exponent.
const mayHoldDecimals = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;
// Strings are told by their quotes: a pattern of a whole string would need memory for each of its escapes.
const token = /\\.|"|-?\d[\d.eE+-]*/g;

/**
 * What JSON.parse returns, but with a Decimal for each number that a double does not hold.
 *
 * @param json valid JSON without U+0000, which marks those numbers while they are parsed
 * @param value what JSON.parse returned
 */
export function withDecimals(json: string, value: unknown): unknown {
  if (!mayHoldDecimals.test(json)) return value;
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

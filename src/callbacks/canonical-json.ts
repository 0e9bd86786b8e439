import { Decimal } from './decimal.ts';

/**
 * The canonical JSON of a value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers and strings as
 * JSON.stringify writes them. RFC 8785 does not cover numbers beyond the precision of a double: Decimal writes those
 * with all their digits.
 *
 * @param value a value that JSON.parse returned, with or without Decimals
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return plain.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Decimal) return value.canonical;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const keys = Object.keys(value);
  if (keys.length === 0) return '{}';
  const values: unknown[] = Object.values(value);
  const { places, heads } = sortedOrder(keys);
  let text = '';
  for (let at = 0; at < places.length; at += 1) text += heads[at] + canonicalJson(values[places[at]!]);
  return `${text}}`;
}

// Nothing that JSON.stringify escapes: surrogates may be unpaired, which it escapes too.
const plain = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

/** The canonical order of keys: the position of each value, and the text before it. */
interface Order {
  keys: readonly string[];
  places: readonly number[];
  heads: readonly string[];
  /** The keys are ASCII, and in the order of the text: JSON.parse moves keys that are numbers to the front. */
  isPlain: boolean;
}

// Callbacks of one event have their keys in the same order, so the last order of each number of keys is cached. Senders choose
// keys: their number and length are limited.
const orders: Order[] = [];
const maxKeys = 100;
const maxKeyLength = 40;

export function sortedOrder(keys: readonly string[]): Order {
  const last = orders[keys.length];
  if (last && isSame(last.keys, keys)) return last;
  const places = [...keys.keys()].sort((a, b) => (keys[a]! < keys[b]! ? -1 : 1));
  const heads = places.map((place, at) => `${at === 0 ? '{' : ','}${JSON.stringify(keys[place])}:`);
  const isPlain = keys.every((key) => /^[ !#-[\]-~]*$/.test(key) && !/^\d+$/.test(key));
  const order = { keys, places, heads, isPlain };
  if (keys.length <= maxKeys && keys.every(({ length }) => length <= maxKeyLength))
    orders[keys.length] = order;
  return order;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false;
  return true;
}

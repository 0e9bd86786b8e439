/**
 * The one way to write a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers
 * and strings as JSON.stringify writes them.
 *
 * @param value a value that JSON.parse returned
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object);
  if (keys.length === 0) return '{}';
  const { sorted, heads } = orderOf(keys);
  let text = '';
  for (let at = 0; at < sorted.length; at += 1) text += heads[at] + canonicalJson(object[sorted[at]!]);
  return `${text}}`;
}

/** How an object with these keys is written: the keys in their order, and what stands before each value. */
interface Order {
  keys: readonly string[];
  sorted: readonly string[];
  heads: readonly string[];
}

// Callbacks of a kind have their keys in the same order: that of the last object with as many is kept.
const orders: Order[] = [];
const mostKeys = 100;

function orderOf(keys: readonly string[]): Order {
  const last = orders[keys.length];
  if (last?.keys.every((key, at) => key === keys[at])) return last;
  const sorted = keys.toSorted();
  const heads = sorted.map((key, at) => `${at === 0 ? '{' : ','}${JSON.stringify(key)}:`);
  const order = { keys, sorted, heads };
  if (keys.length <= mostKeys) orders[keys.length] = order;
  return order;
}

// The limits of PostgreSQL's numeric.
const maxFractionDigits = 16_383;
const maxExponent = 400;

// A double represents any fifteen digits, with an exponent of two digits.
const isShort = /^-?[\d.]{1,15}(?:[eE][+-]?\d{1,2})?$/;

/** A number of JSON that a double cannot represent; PostgreSQL stores all its digits. */
export class Decimal {
  /** Significant digits and a power of ten: `0.10000000000000000010` is `1000000000000000001e-19`. */
  readonly canonical: string;
  /** PostgreSQL writes numbers without an exponent: a large one would turn a few bytes into thousands. */
  readonly isStorable: boolean;

  private constructor(canonical: string, isStorable: boolean) {
    this.canonical = canonical;
    this.isStorable = isStorable;
  }

  /** The digits of a whole number that is not too long. */
  plain(): string | undefined {
    const [, digits, zeros] = /^(-?\d{1,200})(?:e(\d{1,2}))?$/.exec(this.canonical) ?? [];
    return digits && digits + '0'.repeat(Number(zeros ?? 0));
  }

  toString(): string {
    return this.plain() ?? this.canonical;
  }

  /** @returns undefined where the nearest double, in its shortest form, has the same value */
  static of(literal: string): Decimal | undefined {
    if (isShort.test(literal)) return undefined;
    const { canonical, fractionDigits, exponent } = partsOf(literal);
    const nearest = Number(literal);
    const isInRange = Number.isFinite(nearest) && (nearest !== 0 || canonical === '0');
    const isStorable = isInRange && Math.abs(exponent) <= maxExponent && fractionDigits <= maxFractionDigits;
    if (isStorable && canonical === partsOf(String(nearest)).canonical) return undefined;
    return new Decimal(canonical, isStorable);
  }
}

/** Takes linear time: a number may be as long as a body. */
function partsOf(literal: string) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    literal,
  )!;
  const digits = whole! + fraction;
  let from = 0;
  let to = digits.length;
  while (digits[from] === '0') from += 1;
  while (to > from && digits[to - 1] === '0') to -= 1;
  const power = Number(exponent);
  return {
    canonical:
      from === to ? '0' : `${sign}${digits.slice(from, to)}e${power - fraction.length + digits.length - to}`,
    /** Digits after the point in a notation without exponent. */
    fractionDigits: Math.max(0, fraction.length - power),
    exponent: power,
  };
}

// A cheap check that rules out nearly every callback: sixteen digits, or an exponent.
const mayContainDecimals = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;
// Matches quotes, not strings: a pattern for a whole string would use memory for each of its escapes.
const token = /\\.|"|-?\d[\d.eE+-]*/g;

/** @param json without U+0000, which marks the Decimals during parsing @param value its JSON.parse */
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

/** RFC 8785: keys sorted by UTF-16 code units, numbers and strings as JSON.stringify writes them; and all digits of Decimals. */
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

interface Order {
  keys: readonly string[];
  /** The position of each value, and the text before it. */
  places: readonly number[];
  heads: readonly string[];
}

// Callbacks of one event have their keys in the same order, so the last order of each number of keys is cached. Senders choose
// keys: their number and length are limited.
const orders: Order[] = [];
const maxKeys = 100;
const maxKeyLength = 40;

function sortedOrder(keys: readonly string[]): Order {
  const last = orders[keys.length];
  if (last && isSame(last.keys, keys)) return last;
  const places = [...keys.keys()].sort((a, b) => (keys[a]! < keys[b]! ? -1 : 1));
  const heads = places.map((place, at) => `${at === 0 ? '{' : ','}${JSON.stringify(keys[place])}:`);
  const order = { keys, places, heads };
  if (keys.length <= maxKeys && keys.every(({ length }) => length <= maxKeyLength))
    orders[keys.length] = order;
  return order;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false;
  return true;
}

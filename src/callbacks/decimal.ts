// The limit of PostgreSQL's numeric.
const maxFractionDigits = 16_383;
const maxExponent = 400;

// A double represents any fifteen digits, with an exponent of two digits.
const isShort = /^-?[\d.]{1,15}(?:[eE][+-]?\d{1,2})?$/;

/** A number of JSON that a double cannot represent; PostgreSQL stores all its digits. */
export class Decimal {
  /**
   * The canonical form of its value: the significant digits as a whole number, and a power of ten.
   * `0.10000000000000000010` and `1000000000000000001e-19` are both `1000000000000000001e-19`.
   */
  readonly canonical: string;
  /**
   * It is within the limits of PostgreSQL's numeric and the range of a double. PostgreSQL writes
   * numbers without an exponent, so a large one would turn a few bytes into thousands.
   */
  readonly isStorable: boolean;

  private constructor(canonical: string, isStorable: boolean) {
    this.canonical = canonical;
    this.isStorable = isStorable;
  }

  /** Its digits, of a whole number that is not too long; else undefined. */
  plain(): string | undefined {
    const [, digits, zeros] = /^(-?\d{1,200})(?:e(\d{1,2}))?$/.exec(this.canonical) ?? [];
    return digits && digits + '0'.repeat(Number(zeros ?? 0));
  }

  toString(): string {
    return this.plain() ?? this.canonical;
  }

  /**
   * @param literal a JSON number
   * @returns undefined where the nearest double, in its shortest form, has the same value
   */
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

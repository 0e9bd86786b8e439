// PostgreSQL's numeric keeps no more digits after the point.
const mostDecimals = 16_383;
const largestExponent = 400;

// A double holds any fifteen digits, and two more of an exponent.
const isShort = /^-?[\d.]{1,15}(?:[eE][+-]?\d{1,2})?$/;

/** A number of JSON, as it was written, that a double does not hold: PostgreSQL keeps it to its last digit. */
export class Decimal {
  /**
   * The one way to write its value, which is that of no double: its significant digits as a whole number, and
   * a power of ten. `0.10000000000000000010` and `1000000000000000001e-19` are both `1000000000000000001e-19`.
   */
  readonly canonical: string;
  /**
   * Whether it may be stored: what PostgreSQL's numeric can hold, in the range of a double, with an exponent of
   * a double's size. PostgreSQL writes numbers without one: a few bytes would become thousands.
   */
  readonly isStorable: boolean;

  private constructor(canonical: string, isStorable: boolean) {
    this.canonical = canonical;
    this.isStorable = isStorable;
  }

  /**
   * @param literal a number as JSON has it
   * @returns undefined where the nearest double, written in its shortest form, has the same value
   */
  static of(literal: string): Decimal | undefined {
    if (isShort.test(literal)) return undefined;
    const { canonical, decimals, exponent } = partsOf(literal);
    const nearest = Number(literal);
    const isInRange = Number.isFinite(nearest) && (nearest !== 0 || canonical === '0');
    const isStorable = isInRange && Math.abs(exponent) <= largestExponent && decimals <= mostDecimals;
    if (isStorable && canonical === partsOf(String(nearest)).canonical) return undefined;
    return new Decimal(canonical, isStorable);
  }
}

/** In linear time: a number may be as long as a body. */
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
    /** Digits after the point, written without an exponent. */
    decimals: Math.max(0, fraction.length - power),
    exponent: power,
  };
}

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
   * Whether it may be stored: within the limits of PostgreSQL's numeric and the range of a double. PostgreSQL writes
   * numbers without an exponent, so a large one would turn a few bytes into thousands.
   */
  readonly isStorable: boolean;

  private constructor(canonical: string, isStorable: boolean) {
    this.canonical = canonical;
    this.isStorable = isStorable;
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

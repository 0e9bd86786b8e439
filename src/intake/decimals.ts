import { idAsText } from '../families/patients.ts';
import { Decimal } from '../receiver/intake/decimal.ts';

/** A number of JSON without exponent and fraction, as an id is written; the literal itself where it is no such number. */
export function integerOf(literal: string): string {
  return /^-?\d+$/.test(literal) ? literal : (idAsText(Decimal.of(literal) ?? Number(literal)) ?? literal);
}

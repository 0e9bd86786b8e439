import type { Family } from './family.ts';

/** The sign of a field in a sum of its family: that of a total, of what is taken off, or none. */
export function signOf({ sums = {} }: Pick<Family, 'sums'>, name: string): string {
  if (sums[name]) return '= ';
  return Object.values(sums).some((of) => of!.slice(1).includes(name)) ? '− ' : '';
}

/** The totals of a row that are not what they are made of, with what they would be. */
export const wrongSums = (
  { sums = {} }: Pick<Family, 'sums'>,
  row: Readonly<Record<string, string | null>>,
) =>
  Object.entries(sums).flatMap(([total, of]) => {
    const [first, ...others] = of!.map((name) => row[name] ?? null);
    if (first == null || row[total] == null) return [];
    const sum = others.reduce((left, one) => left - Number(one ?? 0), Number(first));
    return Math.abs(sum - Number(row[total])) < 0.005 ? [] : [{ total, sum }];
  });

/** A figure of several rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** @param values one per round; undefined: not measured */
export function spread(values: readonly (number | undefined)[]): Spread | undefined {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** A table cell: the median and the range of the rounds. */
export function show(figure: Spread | undefined, digits = 0): string {
  if (!figure || !Number.isFinite(figure.median)) return '–';
  const write = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const range = `${write(figure.min)}–${write(figure.max)}`;
  return figure.min === figure.max ? write(figure.median) : `${write(figure.median)} (${range})`;
}

const day = (year: number, month: number, date: number) =>
  new Date(Date.UTC(year, month, date)).toISOString().slice(0, 10);

type Range = (year: number, month: number, date: number) => readonly [from?: string, to?: string];

/** Days as of today, both ends included. */
export const ranges = {
  today: (year, month, date) => [day(year, month, date), day(year, month, date)],
  yesterday: (year, month, date) => [day(year, month, date - 1), day(year, month, date - 1)],
  this_month: (year, month, date) => [day(year, month, 1), day(year, month, date)],
  last_month: (year, month) => [day(year, month - 1, 1), day(year, month, 0)],
  last_30_days: (year, month, date) => [day(year, month, date - 29), day(year, month, date)],
  last_365_days: (year, month, date) => [day(year, month, date - 364), day(year, month, date)],
  all: () => [],
} as const satisfies Record<string, Range>;
export type RangeName = keyof typeof ranges;

/** Ages of an amount due, in days: the least and the greatest. */
export const ages = {
  '0_to_7': [null, 7],
  '8_to_30': [8, 30],
  '31_to_90': [31, 90],
  over_90: [91, null],
} as const;
export type Age = keyof typeof ages;

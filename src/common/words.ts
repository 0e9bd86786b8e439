export const words = (name: string): string => name.replaceAll('_', ' ');

export const titled = (name: string): string => name[0]!.toUpperCase() + words(name).slice(1);

const counts = new Intl.NumberFormat('en-IN');

export const formatTimes = (count: number) => `${counts.format(count)}×`;

/** @param value a text: a number as PostgreSQL writes it */
export const formatCount = (value: number | string) => counts.format(value as number);

/** 1 body, 2 bodies */
export const formatCountOf = (
  count: number,
  [singular, plural]: readonly [singular: string, plural: string],
) => `${formatCount(count)} ${count === 1 ? singular : plural}`;

// Less than half a paisa is ₹0, and not -₹0.
const rupees = new Intl.NumberFormat('en-IN', {
  style: 'currency',
  currency: 'INR',
  signDisplay: 'negative',
  trailingZeroDisplay: 'stripIfInteger',
});

/** An amount in rupees such as ₹1,23,456 or ₹450.50, rounded half up to paise; a text that is no number stays as it is. */
export function formatAmount(value: number | string): string {
  const exact = typeof value === 'number' ? value.toFixed(2) : value;
  return /^-?\d+(\.\d+)?$/.test(exact) ? rupees.format(exact as never) : exact;
}

export const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

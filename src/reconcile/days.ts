const dayMs = 24 * 60 * 60 * 1000;
const textOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** A day such as 2026-11-22, so many days later. */
export const addDays = (day: string, days: number): string => textOf(Date.parse(day) + days * dayMs);

export interface Window {
  from: string;
  to: string;
}

// The platform answers for days that are at most seven apart, and may leave out the last one.
const windowDays = 7;

/** The days from the first to the last, both included, in windows of at most seven days. */
export function windowsOf({ from, to }: Window): Window[] {
  const windows: Window[] = [];
  for (let start = from; start <= to; start = addDays(start, windowDays)) {
    const end = addDays(start, windowDays - 1);
    windows.push({ from: start, to: end < to ? end : to });
  }
  return windows;
}

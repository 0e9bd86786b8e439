import { addDays, daysBetween } from '../common/days.ts';

export interface Window {
  from: string;
  to: string;
}

// The platform answers for days that are at most seven apart, and may leave out the last one.
const windowDays = 7;

/** The days from the first to the last, both included, in windows of at most seven days. */
export function windowsOf({ from, to }: Window): Window[] {
  const windows: Window[] = [];
  for (let start = from; daysBetween(start, to) >= 0; start = addDays(start, windowDays)) {
    const end = addDays(start, windowDays - 1);
    windows.push({ from: start, to: daysBetween(end, to) > 0 ? end : to });
  }
  return windows;
}

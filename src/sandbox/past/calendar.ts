import type { Random } from '../random.ts';

export const dayMs = 24 * 3_600_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;
/** India's time is that of UTC and so much; it has no summer time. */
const offset = 5.5 * hourMs;

/** From Sunday: clinics are closed then, and busiest after it. */
const weekdays = [0, 1.4, 1.05, 0.95, 0.9, 1, 1.15];
/** From January: fevers come with the monsoon. */
const months = [1, 0.95, 1, 0.95, 0.95, 1, 1.15, 1.15, 1.1, 1, 1, 1.05];
/** Republic Day, Independence Day, Gandhi's birthday. */
const holidays = ['01-26', '08-15', '10-02'];
/** Each hour as often as visits begin in it: late in the morning, and after work. */
const hours = [9, 10, 10, 10, 11, 11, 11, 12, 12, 13, 16, 17, 17, 17, 18, 18, 18, 19];

/** The number of a day in India, counted from 1 January 1970. */
export const dayOf = (at: number) => Math.floor((at + offset) / dayMs);

/** Midnight in India. */
export const startOf = (day: number) => day * dayMs - offset;

/** How many visits a day has, in relation to the average day; 0: closed. */
export function busynessOf(day: number): number {
  const [, month, date] = isoDay(day).split('-') as [string, string, string];
  if (holidays.includes(`${month}-${date}`)) return 0;
  // Wages are paid in the first days of a month.
  return weekdays[(day + 4) % 7]! * months[Number(month) - 1]! * (Number(date) <= 5 ? 1.1 : 1);
}

export const isOpen = (day: number) => busynessOf(day) > 0;

/** The day, or the next or (with -1) the last one before it that clinics are open. */
export function openDay(day: number, step: 1 | -1 = 1): number {
  return isOpen(day) ? day : openDay(day + step, step);
}

/** The last day of the month on which clinics are open. */
export function lastOpenDay(day: number): number {
  const [year, month] = isoDay(day).split('-').map(Number) as [number, number];
  return openDay(Date.UTC(year, month, 0) / dayMs, -1);
}

/** The beginning of a quarter of an hour in which patients come. */
export const visitTime = (random: Random, day: number) =>
  startOf(day) + random.pick(hours) * hourMs + random.between(0, 3) * 15 * minuteMs;

/** Any moment at which the desk is staffed. */
export const deskTime = (random: Random, day: number) =>
  startOf(day) + random.between(9 * hourMs, 20 * hourMs - 1);

/** When reminders are sent. */
export const evening = (day: number) => startOf(day) + 18 * hourMs;

/** When the platform ends what nobody has ended, a little before midnight. */
export const midnight = (day: number) => startOf(day) + dayMs - 5 * minuteMs;

export const minutes = (random: Random, least: number, most: number) =>
  random.between(least * minuteMs, most * minuteMs);

const isoDay = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);

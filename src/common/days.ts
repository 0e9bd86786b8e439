import { z } from 'zod';

// Days of the calendar as PostgreSQL writes them, such as 2026-11-21.

export const dayMs = 86_400_000;

const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const calendarDay = z.iso.date();
/** Days before 1900 and after 2999 are none. */
export const isDay = (text: string): boolean => /^(19|2\d)/.test(text) && calendarDay.safeParse(text).success;

export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;

export const addDays = (day: string, days: number): string => dayAt(Date.parse(day) + days * dayMs);

/** The first day of a month, some months later. */
export function addMonths(day: string, months: number): string {
  const date = new Date(day);
  return dayAt(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months));
}

export const monthStart = (day: string): string => addMonths(day, 0);
export const monthEnd = (day: string): string => addDays(addMonths(day, 1), -1);

const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'medium' });

/** A day for people: 21 Nov 2026. Another text is itself. */
export const formatDay = (text: string): string => (isDay(text) ? format.format(new Date(text)) : text);

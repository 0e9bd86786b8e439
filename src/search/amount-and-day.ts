import { addDays, isDay, weekdayOf } from '../common/days.ts';

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const weekdays = 'mon tue wed thu fri sat sun'.split(' ');

const amountPattern = String.raw`(?:₹|rs\.?|inr)?\s*(\d[\d,]*(?:\.\d{1,2})?)`;
const dayPattern = String.raw`(today|yesterday|(?:${weekdays.join('|')})[a-z]*|\d{4}-\d\d-\d\d|\d{1,2}[ /.-](?:\d{1,2}|[a-z]{3,9})(?:[ /.-](?:\d{4}|\d\d))?)`;
const amountFirst = new RegExp(`^${amountPattern}\\s+(?:on\\s+)?${dayPattern}$`, 'i');
const dayFirst = new RegExp(`^${dayPattern}\\s+${amountPattern}$`, 'i');

export interface AmountAndDay {
  /** In rupees, such as 1500.50. */
  amount: string;
  /** Such as 2026-11-19. */
  day: string;
}

/**
 * Reads an amount with a day: `1500 yesterday`, `1,500 19 Nov`, `19/11/2026 ₹1,500.50`.
 *
 * @param today such as 2026-11-21; a day without a year, and a day of the week, is the latest one that is not after it
 */
export function readAmountAndDay(text: string, today: string): AmountAndDay | undefined {
  const given = text.trim().replace(/\s+/g, ' ');
  const [, amount, after] = amountFirst.exec(given) ?? [];
  const [, before, other] = (amount === undefined && dayFirst.exec(given)) || [];
  const day = readDay((after ?? before ?? '').toLowerCase(), today);
  return day ? { amount: (amount ?? other)!.replaceAll(',', ''), day } : undefined;
}

function readDay(text: string, today: string): string | undefined {
  if (text === 'today') return today;
  if (text === 'yesterday') return addDays(today, -1);
  const weekday = weekdays.indexOf(text.slice(0, 3));
  if (weekday >= 0) return addDays(today, -((weekdayOf(today) - weekday + 7) % 7));
  if (/^\d{4}-/.test(text)) return isDay(text) ? text : undefined;
  const [date, month = '', year] = text.split(/[ /.-]/);
  const named = months.indexOf(month.slice(0, 3)) + 1;
  const number = named || Number(month);
  const thisYear = Number(today.slice(0, 4));
  if (year) return realDay(year.length === 2 ? 2000 + Number(year) : Number(year), number, Number(date));
  const latest = realDay(thisYear, number, Number(date));
  return latest && latest > today ? realDay(thisYear - 1, number, Number(date)) : latest;
}

/** Undefined where there is no such day. */
function realDay(...numbers: [year: number, month: number, date: number]): string | undefined {
  const [year, month, date] = numbers.map((number) => String(number).padStart(2, '0'));
  const day = `${year!.padStart(4, '0')}-${month}-${date}`;
  return isDay(day) ? day : undefined;
}

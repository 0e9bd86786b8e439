const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const weekdays = 'sun mon tue wed thu fri sat'.split(' ');
const dayMs = 24 * 60 * 60 * 1000;

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

const isoDay = (moment: number) => new Date(moment).toISOString().slice(0, 10);

function readDay(text: string, today: string): string | undefined {
  const now = Date.parse(today);
  if (text === 'today') return today;
  if (text === 'yesterday') return isoDay(now - dayMs);
  const weekday = weekdays.indexOf(text.slice(0, 3));
  if (weekday >= 0) return isoDay(now - ((new Date(now).getUTCDay() - weekday + 7) % 7) * dayMs);
  if (/^\d{4}-/.test(text)) return dayOf(...(text.split('-').map(Number) as [number, number, number]));
  const [date, month = '', year] = text.split(/[ /.-]/);
  const named = months.indexOf(month.slice(0, 3)) + 1;
  const number = named || Number(month);
  const thisYear = Number(today.slice(0, 4));
  if (year) return dayOf(year.length === 2 ? 2000 + Number(year) : Number(year), number, Number(date));
  const latest = dayOf(thisYear, number, Number(date));
  return latest && latest > today ? dayOf(thisYear - 1, number, Number(date)) : latest;
}

/** Undefined where there is no such day. */
function dayOf(year: number, month: number, date: number): string | undefined {
  const moment = Date.UTC(year, month - 1, date);
  return new Date(moment).getUTCMonth() === month - 1 && date > 0 ? isoDay(moment) : undefined;
}

import type { Doctor, Practice } from './practice.ts';
import type { Random } from './random.ts';

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** Midnight in India, some days later. */
export const startOfDay = (time: number, days = 0): number => time - ((time + 5.5 * hour) % day) + days * day;

const weekdayOf = (time: number) => new Date(time + 5.5 * hour).getUTCDay();

/** What begins at a practice: a visit with the time of its appointment, or something else. */
export interface Beginning {
  at: number;
  practice: Practice;
  doctor: Doctor;
  startsAt?: number | undefined;
}

const busyness = [0, 1, 0.8, 0.9, 0.8, 1, 1.5];
const visitsPerDay = 8;
const maxDaysAhead = 7;

/**
 * What happens in the days from `start` to a week after `end`, in the order in which it begins: visits, by their booking, and
 * something else each day. It is closed on Sundays.
 */
export function planPast(random: Random, practice: Practice, start: number, end: number) {
  const beginnings: Beginning[] = [];
  const isTaken = new Set<string>();

  function findSlot(midnight: number) {
    for (;;) {
      const doctor = random.pick(practice.doctors);
      // From 9 to 19: mornings and evenings are busy.
      const quarters = [random.between(0, 40), random.between(2, 18), random.between(30, 40)];
      const startsAt = midnight + 9 * hour + random.pick(quarters) * 15 * minute;
      const slot = `${doctor.id} ${startsAt}`;
      if (isTaken.has(slot)) continue;
      isTaken.add(slot);
      return { doctor, startsAt };
    }
  }

  function planVisit(midnight: number): void {
    const { doctor, startsAt } = findSlot(midnight);
    const daysAhead = random.between(1, maxDaysAhead);
    const at = random.chance(0.35)
      ? startsAt - random.between(5, 30) * minute
      : midnight - daysAhead * day + random.between(8 * 60, 21 * 60) * minute;
    beginnings.push({ at, practice, doctor, startsAt });
  }

  const last = startOfDay(end, maxDaysAhead);
  for (let midnight = startOfDay(start); midnight <= last; midnight += day) {
    const busy = busyness[weekdayOf(midnight)]!;
    if (busy === 0) continue;
    const visits = (visitsPerDay * busy * random.between(80, 120)) / 100;
    for (let left = Math.round(visits); left > 0; left--) planVisit(midnight);
    const at = midnight + random.between(10 * 60, 16 * 60) * minute;
    beginnings.push({ at, practice, doctor: random.pick(practice.doctors) });
  }
  return beginnings.sort((a, b) => a.at - b.at);
}

/** An opening hour some days later. */
export function timeAfterDays(random: Random, now: number, days: number): number {
  const midnight = startOfDay(now, days);
  const isClosed = weekdayOf(midnight) === 0;
  return midnight + (isClosed ? day : 0) + random.between(9.5 * 60, 19 * 60) * minute;
}

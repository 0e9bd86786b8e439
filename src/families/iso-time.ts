import { parseIsoTime } from '../receiver/families/times.ts';

const earliest = -62_135_596_800_000; // 0001-01-01
const latest = 253_402_300_799_999; // 9999-12-31

/** Whether a text is a time with an offset, from the year 1 to the end of the year 9999 in UTC. */
export function isIsoTime(text: string): boolean {
  const time = parseIsoTime(text);
  return time >= earliest && time <= latest;
}

/**
 * A time of a callback in milliseconds. The unit of numbers is not documented: one above 1e11 is in milliseconds, else in
 * seconds (service-interface section 2.1).
 */
export function milliseconds(time: number | string): number {
  if (typeof time === 'string') return parseIsoTime(time);
  return time > 1e11 ? time : time * 1000;
}

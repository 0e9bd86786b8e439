/** A time in a time zone: 21 Nov 2026, 09:04:05. */
export function formatMoment(at: Date, timezone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(at);
}

/** A duration in its two largest units: 3 d 4 h. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(seconds < 1 ? 2 : 1))} s`;
  const units: [name: string, seconds: number][] = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  let left = Math.floor(seconds);
  const words = units.slice(first, first + 2).map(([name, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count > 0 ? `${count} ${name}` : '';
  });
  return words.filter(Boolean).join(' ');
}

/**
 * Reads a local time of a time zone.
 *
 * @param text such as 2026-11-21T09:04, as a browser's field for date and time sends it
 * @returns undefined if it is not a local time
 */
export function parseLocal(text: string, timezone: string): Date | undefined {
  const reading = Date.parse(`${text}Z`);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) || Number.isNaN(reading)) return undefined;
  // If the offset changes in between, the second estimate is on the right side of the change.
  const near = reading - offset(reading, timezone);
  return new Date(reading - offset(near, timezone));
}

/** The UTC offset of a time zone, in milliseconds. */
function offset(moment: number, timezone: string): number {
  const whole = Math.floor(moment / 1000) * 1000;
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(whole);
  const part = (type: string) => Number(parts.find((p) => p.type === type)!.value);
  return (
    Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')) -
    whole
  );
}

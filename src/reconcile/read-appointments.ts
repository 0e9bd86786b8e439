import type { ServiceClient } from '../client/index.ts';
import { addDays, daysBetween } from '../common/days.ts';

/** The documented size of a page. */
const pageSize = 30;

/** A page of the list. */
export interface AppointmentPage {
  /** Every field that they have, ids as text. */
  appointments: (Readonly<Record<string, unknown>> & { readonly appointment_id: string })[];
  /**
   * A whole second, by the platform's clock, before the platform was asked: what it lists was so then or later, and a
   * callback of the second in which it was asked is newer. In milliseconds since 1970.
   */
  askedMs: number;
}

/**
 * Reads the appointments that take place on some days. Whether the platform counts the last day in is not documented, so
 * those of the day after may be among them.
 *
 * @throws ServiceError; the reason of the signal
 */
export async function* readAppointments(
  client: ServiceClient,
  days: Window,
  signal: AbortSignal,
): AsyncGenerator<AppointmentPage> {
  const seen = new Set<string>();
  for (const { from, to } of windowsOf(days)) {
    const ofWindow = new Set<string>();
    for (let pageNo = 0, isLast = false; !isLast; pageNo += 1) {
      const [sentAt, began] = [Date.now(), performance.now()];
      const query = { start_date: from, end_date: addDays(to, 1), page_no: pageNo };
      const page = await client.listAppointments(query, { signal });
      // The answer is older than its time. One in the future would be newer than callbacks to come.
      const asked = Math.min(page.answeredAt.getTime() - (performance.now() - began), sentAt);
      const received = page.raw.appointments as Readonly<Record<string, unknown>>[];
      const listed = page.appointments.map((fields, n) => ({ ...received[n], ...fields }));
      // A platform that repeats its pages would have no last one.
      isLast = listed.length < pageSize || listed.every(({ appointment_id: id }) => ofWindow.has(id));
      // What is booked meanwhile moves others to the next page.
      const appointments = listed.filter(({ appointment_id: id }) => !seen.has(id) && seen.add(id));
      for (const { appointment_id: id } of listed) ofWindow.add(id);
      yield { appointments, askedMs: (Math.floor(asked / 1000) - 1) * 1000 };
    }
  }
}

/** Days, both included. */
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

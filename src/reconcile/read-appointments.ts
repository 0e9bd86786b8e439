import type { ServiceClient } from '../client/index.ts';
import { addDays, daysBetween } from '../common/days.ts';

const pageSize = 30;

// The platform answers for days that are at most seven apart, and may leave out the last one.
const windowDays = 7;

export interface AppointmentPage {
  /** With every field, ids as text. */
  appointments: (Readonly<Record<string, unknown>> & { readonly appointment_id: string })[];
  /**
   * In milliseconds since 1970: a whole second, by the platform's clock, before the request. The list is as old or newer, and
   * callbacks of the second of the request are newer.
   */
  askedMs: number;
}

/** Days, both included. */
export interface Window {
  from: string;
  to: string;
}

/** Also those of the day after: whether the platform includes the last day is not documented. @throws ServiceError */
export async function* readAppointments(
  client: ServiceClient,
  { from, to }: Window,
  signal: AbortSignal,
): AsyncGenerator<AppointmentPage> {
  const seen = new Set<string>();
  const end = addDays(to, 1);
  for (let start_date = from; start_date < end; start_date = addDays(start_date, windowDays)) {
    const end_date = addDays(start_date, Math.min(windowDays, daysBetween(start_date, end)));
    const ofWindow = new Set<string>();
    for (let pageNo = 0, isLast = false; !isLast; pageNo += 1) {
      const [sentAt, began] = [Date.now(), performance.now()];
      const query = { start_date, end_date, page_no: pageNo };
      const page = await client.listAppointments(query, { signal });
      // The list is older than its answer. A time in the future would be newer than callbacks to come.
      const asked = Math.min(page.answeredAt.getTime() - (performance.now() - began), sentAt);
      const received = page.raw.appointments as Readonly<Record<string, unknown>>[];
      const listed = page.appointments.map((fields, n) => ({ ...received[n], ...fields }));
      // A platform that repeats its pages would have no last one.
      isLast = listed.length < pageSize || listed.every(({ appointment_id: id }) => ofWindow.has(id));
      // Bookings in the meantime move others to the next page.
      const appointments = listed.filter(({ appointment_id: id }) => !seen.has(id) && seen.add(id));
      for (const { appointment_id: id } of listed) ofWindow.add(id);
      yield { appointments, askedMs: (Math.floor(asked / 1000) - 1) * 1000 };
    }
  }
}

import { sql } from 'kysely';
import { addDays } from '../common/days.ts';
import { appointment } from '../families/appointment.ts';
import { timeSchema } from '../families/field.ts';
import { findUnstorable } from '../receiver/intake/unstorable.ts';
import type { Db } from '../store/tables.ts';
import type { Window } from './days.ts';
import type { Platform, ReadAppointment } from './platform.ts';

/** A page of appointments, and when the platform was asked for it. */
export interface Reading {
  appointments: readonly ReadAppointment[];
  isLast: boolean;
  /** By the platform's clock, in whole seconds: what it tells was so at this time or later. */
  askedAt: Date;
  /** By the database's clock. */
  askedSince: Date;
}

/**
 * Reads appointments with the time at which the platform was asked: an answer is older than its `Date`, and a change that is
 * not in it must not be taken for an older one.
 */
export function createReader(db: Db, platform: Platform, signal?: AbortSignal) {
  /** The platform's clock less that of performance.now(), in milliseconds. */
  let ahead = Date.now() - performance.now();

  /** The last day is read whether or not the platform's ranges include it. */
  return async ({ from, to }: Window, pageNo: number): Promise<Reading> => {
    signal?.throwIfAborted();
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
    const began = performance.now();
    const { appointments, isLast, answeredAt } = await platform.appointmentsPage(
      from,
      addDays(to, 1),
      pageNo,
      signal,
    );
    const date = answeredAt.getTime();
    // `Date` has whole seconds: the clock is ahead of it by less than one.
    if (!Number.isNaN(date)) ahead = date - performance.now();
    // A `Date` in the future would make what was read newer than callbacks to come.
    ahead = Math.min(ahead, Date.now() - performance.now());
    return {
      appointments: appointments.flatMap((one) => fitting(one) ?? []),
      isLast,
      askedAt: new Date(Math.floor((began + ahead) / 1000) * 1000),
      askedSince: rows[0]!.now,
    };
  };
}

const times = ['start_time', 'end_time'];

/**
 * The fields that fit the family's documentation, and that PostgreSQL can store: it would refuse all of the others' page.
 *
 * @returns undefined: the appointment is not one
 */
function fitting(read: ReadAppointment): ReadAppointment | undefined {
  const faults = new Set(appointment.data.safeParse(read).error?.issues.map(({ path }) => path[0]));
  const fits = ([name, value]: [string, unknown]) =>
    value !== undefined &&
    !faults.has(name) &&
    (!times.includes(name) || timeSchema.safeParse(value).success) &&
    findUnstorable(JSON.stringify({ [name]: value }), { [name]: value }).length === 0;
  const fields = Object.fromEntries(Object.entries(read).filter(fits));
  return fields.appointment_id ? (fields as ReadAppointment) : undefined;
}

import { sql } from 'kysely';
import { addDays } from '../common/days.ts';
import { appointment } from '../families/appointment.ts';
import { timeSchema } from '../families/field.ts';
import type { Db } from '../store/tables.ts';
import { fittingFields } from './fitting.ts';
import type { Platform, ReadAppointment } from './platform.ts';

/** Appointments, and when the platform was asked for them. */
export interface Reading {
  appointments: readonly ReadAppointment[];
  /** By the platform's clock, in whole seconds: what it tells was so at this time or later. */
  askedAt: Date;
  /** By the database's clock. */
  askedSince: Date;
  /** A list tells less than the answer about one: not the links of a reschedule. */
  isList?: boolean;
}

const times = ['start_time', 'end_time'];

/** @returns undefined: the appointment is not one */
function fitting(read: ReadAppointment): ReadAppointment | undefined {
  const fits = ([name, value]: [string, unknown]) =>
    !times.includes(name) || timeSchema.safeParse(value).success;
  const fields = Object.fromEntries(Object.entries(fittingFields(appointment, read)).filter(fits));
  return fields.appointment_id ? (fields as ReadAppointment) : undefined;
}

/**
 * Reads appointments with the time at which the platform was asked: an answer is older than its `Date`, and a change that is
 * not in it must not be taken for an older one.
 */
export function createReader(db: Db, platform: Platform, signal?: AbortSignal) {
  /** The platform's clock less that of performance.now(), in milliseconds. */
  let ahead = Date.now() - performance.now();

  const read = async <Answer>(ask: () => Promise<Answer>, dateOf: (answer: Answer) => Date | undefined) => {
    signal?.throwIfAborted();
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
    const began = performance.now();
    const answer = await ask();
    const date = dateOf(answer)?.getTime();
    // `Date` has whole seconds: the clock is ahead of it by less than one.
    if (date !== undefined && !Number.isNaN(date)) ahead = date - performance.now();
    // A `Date` in the future would make what was read newer than callbacks to come.
    ahead = Math.min(ahead, Date.now() - performance.now());
    const askedAt = new Date(Math.floor((began + ahead) / 1000) * 1000);
    return { answer, askedAt, askedSince: rows[0]!.now };
  };

  return {
    /** @param to the last day, which is read whether or not the platform's ranges include it */
    page: async (from: string, to: string, pageNo: number): Promise<Reading & { isLast: boolean }> => {
      const ask = () => platform.appointmentsPage(from, addDays(to, 1), pageNo, signal);
      const { answer, ...asked } = await read(ask, ({ answeredAt }) => answeredAt);
      const appointments = answer.appointments.flatMap((one) => fitting(one) ?? []);
      return { appointments, isList: true, isLast: answer.isLast, ...asked };
    },
    /** Without appointments: the platform does not know it. */
    one: async (id: string): Promise<Reading> => {
      const { answer, ...asked } = await read(
        () => platform.appointment(id, signal),
        (found) => found?.answeredAt,
      );
      const found = answer && fitting(answer.appointment);
      return { appointments: found ? [found] : [], ...asked };
    },
  };
}

export type Reader = ReturnType<typeof createReader>;

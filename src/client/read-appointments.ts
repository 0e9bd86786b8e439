import { z } from 'zod';
import { type CallOptions, parse } from './call.ts';
import type { operations, ResponseOf } from './operations.ts';
import type { Appointment } from './reading-schemas.ts';

interface OfDays {
  /** At a doctor's or a clinic's alone. */
  readonly doctorId?: string;
  readonly clinicId?: string;
  readonly patientId?: never;
}

interface OfPatient {
  readonly patientId: string;
  readonly doctorId?: never;
  readonly clinicId?: never;
}

/** The appointments of days, YYYY-MM-DD, both included; or of a patient. */
export type AppointmentsQuery =
  | (OfDays & { readonly from: string; readonly to: string })
  | (OfPatient & { readonly from?: never; readonly to?: never });

/** A page of the appointments of at most 8 days, or of a patient. */
export type AppointmentsPageQuery = { readonly pageNo: number } & (
  | (OfDays & { readonly startDate: string; readonly endDate: string })
  | (OfPatient & { readonly startDate?: never; readonly endDate?: never })
);

export interface AppointmentsPage {
  readonly appointments: readonly Appointment[];
  /** The `Date` of the response, accurate to a second. */
  readonly answeredAt: Date;
  /** Whether it is shorter than a page, so that no other follows. */
  readonly isLast: boolean;
}

type List = (typeof operations)['listAppointments'];
type Reader = (request: z.input<List['request']>, options?: CallOptions) => Promise<ResponseOf<List>>;

/** Reads one page; each appointment has its `raw`. */
export async function readAppointmentsPage(
  list: Reader,
  query: AppointmentsPageQuery,
  options?: CallOptions,
): Promise<AppointmentsPage> {
  const { pageNo: page_no, startDate: start_date, endDate: end_date } = query;
  const { patientId: patient_id, doctorId: doctor_id, clinicId: clinic_id } = query;
  const request = { page_no, start_date, end_date, patient_id, doctor_id, clinic_id };
  const { appointments, answeredAt, raw } = await list(request, options);
  const received = raw.appointments as Appointment['raw'][];
  return {
    appointments: appointments.map((appointment, index) => ({ ...appointment, raw: received[index]! })),
    answeredAt,
    isLast: appointments.length < pageSizeOf(query),
  };
}

/** The documented sizes of a page. */
export function pageSizeOf({ patientId, doctorId, clinicId }: AppointmentsPageQuery): number {
  if (patientId !== undefined) return 20;
  return doctorId === undefined && clinicId === undefined ? 30 : 50;
}

/**
 * All appointments, page by page, in windows of 7 days. A page that shifts while it is read makes some come twice: the
 * later one is newer.
 */
export async function* readAppointments(
  list: Reader,
  query: AppointmentsQuery,
  options?: CallOptions,
): AsyncGenerator<Appointment, void> {
  const { from, to, ...whose } = query;
  const windows = whose.patientId === undefined ? windowsOf(parse(days, { from, to }, context)) : [{}];
  for (const window of windows) {
    for (let pageNo = 0, isLast = false; !isLast; pageNo++) {
      const pageQuery = { ...whose, ...window, pageNo } as AppointmentsPageQuery;
      const page = await readAppointmentsPage(list, pageQuery, options);
      yield* page.appointments;
      isLast = page.isLast;
    }
  }
}

const context = { operation: 'appointments' };
const days = z
  .object({ from: z.iso.date(), to: z.iso.date() })
  .refine(({ from, to }) => from <= to, { path: ['to'], message: 'must not be before from' });

const dayMs = 24 * 3_600_000;
const toDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** The days from `from` to `to`, both included, in windows of at most 7. */
export function* windowsOf({ from, to }: { readonly from: string; readonly to: string }) {
  const last = Date.parse(to);
  for (let start = Date.parse(from); start <= last; start += 7 * dayMs) {
    yield { startDate: toDay(start), endDate: toDay(Math.min(start + 6 * dayMs, last)) };
  }
}

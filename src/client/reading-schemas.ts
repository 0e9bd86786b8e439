import { z } from 'zod';

// From the platform's public documentation. A response requires only what identifies its record or says that a list has
// ended; other statuses than the documented ones are valid.

const text = z.string().nullish();
const id = z.union([z.string(), z.number()]).transform(String);
const maybeId = id.nullish();
const time = z.union([z.number(), z.string()]).nullish();
const orEmpty = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);

/** An appointment of a list. */
export const appointment = z.object({
  appointment_id: id,
  partner_appointment_id: maybeId,
  created_at: time,
  doctor_id: maybeId,
  partner_doctor_id: maybeId,
  clinic_id: maybeId,
  partner_clinic_id: maybeId,
  patient_id: maybeId,
  partner_patient_id: maybeId,
  channel: text,
  status: text.describe('BK, OG, CM, …; others are possible'),
  mode: text.describe('tele, in_clinic'),
  start_time: time.describe('Seconds since 1970'),
  end_time: time.describe('Seconds since 1970'),
  prescription_id: maybeId,
  prescription_url: text,
});

const day = z.iso.date().describe('YYYY-MM-DD');

/** The query of List appointments. */
export const listAppointmentsRequest = z.strictObject({
  start_date: day,
  end_date: day.describe('At most 7 days after start_date'),
  page_no: z.int().min(0).describe('From 0'),
});

/** Response of List appointments; null counts as no appointments, and a page with fewer than 30 is the last. */
export const listAppointmentsResponse = z.object({
  appointments: z
    .array(appointment)
    .nullable()
    .transform((list) => list ?? []),
});

/** Response of Directory: the names of a business, its clinics and its doctors. */
export const directoryResponse = z.object({
  data: z.object({
    business: z.object({ business_id: id, name: text }).nullish(),
    clinics: orEmpty(z.object({ clinic_id: id, name: text, doctors: orEmpty(id) })),
    doctors: orEmpty(z.object({ doctor_id: id, name: text, pic: text })),
  }),
});

export type Appointment = z.output<typeof appointment>;

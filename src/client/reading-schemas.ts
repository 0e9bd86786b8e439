import { z } from 'zod';
import { pathId } from './path-id.ts';
import type { Answered, WithRaw } from './with-raw.ts';

// From the platform's public documentation. A response requires only what identifies its record or says that a list has
// ended; other statuses than the documented ones are valid.

const text = z.string().nullish();
const id = z.union([z.string(), z.number()]).transform(String);
const maybeId = id.nullish();
const time = z.union([z.number(), z.string()]).nullish();
const unknown = z.unknown().optional().describe('Its type is not documented');
const orEmpty = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);

const dayMs = 24 * 3_600_000;
const day = z.iso.date().describe('YYYY-MM-DD');

/** An appointment, as in a list and alone; a list has no payment, service or reschedules. */
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
  service: unknown,
  payment: z
    .object({
      payment_id: maybeId,
      payment_status: text,
      amount: z.union([z.number(), z.string()]).nullish(),
    })
    .nullish(),
  prev_aids: z.array(id).nullish().describe('The appointments that this one replaces'),
  next_aid: maybeId.describe('The appointment that replaces this one'),
});

/** The query of List appointments: a patient, or days, with or without a doctor and a clinic. */
export const listAppointmentsRequest = z
  .strictObject({
    patient_id: z.string().min(1).optional().describe('Alone, without days'),
    start_date: day.optional(),
    end_date: day.optional().describe('At most 7 days after start_date'),
    doctor_id: z.string().min(1).optional(),
    clinic_id: z.string().min(1).optional(),
    page_no: z.int().min(0).describe('From 0'),
  })
  .superRefine(({ page_no, patient_id, ...days }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    const { start_date, end_date } = days;
    if (patient_id !== undefined) {
      if (Object.values(days).some((value) => value !== undefined)) refuse('patient_id', 'must be alone');
      return;
    }
    if (start_date === undefined) return refuse('start_date', 'is required without patient_id');
    if (end_date === undefined) return refuse('end_date', 'is required without patient_id');
    const apart = Date.parse(end_date) - Date.parse(start_date);
    if (apart < 0) refuse('end_date', 'must not be before start_date');
    if (apart > 7 * dayMs) refuse('end_date', 'must be at most 7 days after start_date');
  });

/** Response of List appointments; null counts as no appointments. */
export const listAppointmentsResponse = z.object({
  appointments: z
    .array(appointment)
    .nullable()
    .transform((list) => list ?? []),
});

export const appointmentRequest = z.strictObject({
  id: pathId('an appointment'),
  partner_id: z.literal(1).optional().describe("With 1, id is the partner's id of the appointment"),
});

export const prescriptionRequest = z.strictObject({ id: pathId('a prescription') });
export const admissionRequest = z.strictObject({ id: pathId('an admission') });

// The fields of a prescription and of an admission are not documented one by one: `raw` has all.
export const prescriptionResponse = z.object({ doctor: unknown, patient: unknown });
export const admissionResponse = z.object({ id: unknown, stage: unknown, status: unknown });

export const transactionStatusRequest = z.strictObject({
  transaction_id: pathId('a payment').describe('The payment_id of a receipt'),
});

export const transactionStatusResponse = z.object({
  transaction_id: maybeId,
  amount: z.union([z.number(), z.string()]).nullish(),
  created_at: time,
  payment_mode: text.describe('UPI, …'),
  payment_gateway: text,
  payment_status: text.describe('PAYMENT_SUCCESS, …'),
  rrn: maybeId.describe("The bank's reference"),
});

export const directoryRequest = z.strictObject({});

/** Response of Directory: the names of a business, its clinics and its doctors. */
export const directoryResponse = z.object({
  data: z.object({
    business: z.object({ business_id: id, name: text }).nullish(),
    clinics: orEmpty(z.object({ clinic_id: id, name: text, doctors: orEmpty(id) })),
    doctors: orEmpty(z.object({ doctor_id: id, name: text, pic: text })),
  }),
});

export const listPatientsRequest = z.strictObject({
  pageNo: z.int().min(0).default(0),
  pageSize: z.int().min(1).max(2_000).default(500),
  from: z
    .union([z.string().min(1), z.number()])
    .optional()
    .describe('Created after; its format is not documented'),
});

/** Response of List patients: personal data, whose fields are not documented. */
export const listPatientsResponse = z.object({
  profiles: orEmpty(z.record(z.string(), z.unknown())),
  nextPage: z.coerce.number().int().describe('-1 at the end'),
});

export type Appointment = WithRaw<z.output<typeof appointment>>;
export type TransactionStatus = Answered<z.output<typeof transactionStatusResponse>>;
export type Directory = Answered<z.output<typeof directoryResponse>>;
export type PatientProfile = Readonly<Record<string, unknown>>;

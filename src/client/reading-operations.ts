import { z } from 'zod';
import { id, type Operation, orEmpty, text } from './operation.ts';

// From the platform's public documentation. A response requires only what identifies its record or says that a list has
// ended; other statuses than the documented ones are valid.

const maybeId = id.nullish();
const time = z.union([z.number(), z.string()]).nullish();
/** What it is does not matter: it identifies nobody. */
const any = <T extends z.ZodType>(type: T) => type.catch(null as never);
const listOf = <T extends z.ZodType>(item: T) => z.array(item).nullish().transform(orEmpty);

export const appointment = z.object({
  appointment_id: id,
  partner_appointment_id: any(maybeId),
  created_at: time,
  doctor_id: any(maybeId),
  partner_doctor_id: any(maybeId),
  clinic_id: any(maybeId),
  partner_clinic_id: any(maybeId),
  patient_id: maybeId,
  partner_patient_id: maybeId,
  channel: any(text),
  status: text.describe('BK, OG, CM, …; others are possible'),
  mode: any(text).describe('tele, in_clinic'),
  start_time: time.describe('Seconds since 1970'),
  end_time: time.describe('Seconds since 1970'),
  prescription_id: any(maybeId),
  prescription_url: any(text),
});

const day = z.iso.date().describe('YYYY-MM-DD');

const reads = { group: 'reading', method: 'GET' } as const;

export default {
  /** A page of the appointments of some days. Like every read, it is retried like the search, and waits for a rate limit. */
  listAppointments: {
    ...reads,
    path: 'dr/v1/appointment',
    request: z.strictObject({
      start_date: day,
      end_date: day.describe('At most 7 days after start_date'),
      page_no: z.int().min(0).describe('From 0'),
    }),
    // Null counts as no appointments; a page with fewer than 30 is the last.
    response: z.object({ appointments: z.array(appointment).nullable().transform(orEmpty) }),
  },
  /** The names of the business, its clinics and doctors. */
  directory: {
    ...reads,
    path: 'dr/v1/business/entities',
    response: z.object({
      data: z.object({
        business: z.object({ business_id: id, name: text }).nullish(),
        clinics: listOf(z.object({ clinic_id: id, name: text, doctors: listOf(id) })),
        doctors: listOf(z.object({ doctor_id: id, name: text, pic: text })),
      }),
    }),
  },
} as const satisfies Record<string, Operation>;

export type Appointment = z.output<typeof appointment>;

import { sql } from 'kysely';
import { fieldsInData } from '../families/index.ts';
import { prescription } from '../families/prescription.ts';
import type { Db } from '../store/tables.ts';
import { fittingFields } from './fitting.ts';
import { againAfter, type FollowUp, type FollowUpContext, mostDue } from './follow-up-kind.ts';
import { supply } from './supply.ts';

export interface NamedPrescription {
  id: string;
  appointment: string;
  /** The appointment's. */
  day: string;
  /** The delivery of the appointment's row. */
  delivery: string;
}

/** Notes prescriptions that appointments name, if none has come. */
export async function noteNamed(
  db: Db,
  business: string,
  named: readonly NamedPrescription[],
): Promise<void> {
  if (named.length === 0) return;
  await sql`
    insert into named_prescriptions (business_id, prescription_id, appointment_id, day, delivery_id)
    select ${business}, id, appointment, day, delivery
    from jsonb_to_recordset(${JSON.stringify(named)}::jsonb) as named (id text, appointment text, day date, delivery uuid)
    -- The appointment may have been erased meanwhile.
    where length(id) <= 200 and exists (select from inbox i where i.id = named.delivery)
      and not exists (select from prescriptions p where p.business_id = ${business} and p.prescription_id = named.id)
    order by id
    on conflict do nothing`.execute(db);
}

async function findDue({ db, business }: FollowUpContext): Promise<NamedPrescription[]> {
  const { rows } = await sql<NamedPrescription>`
    select prescription_id as id, appointment_id as appointment, day::text, delivery_id as delivery
    from named_prescriptions n
    where business_id = ${business} and ask_again_at <= now()
      and not exists (select from prescriptions p where p.business_id = n.business_id and p.prescription_id = n.prescription_id)
      and not exists (
        select from pending_deliveries w join inbox i using (id)
        where w.family = ${prescription.name} and i.business_id = n.business_id
          and thing_of(i.family, i.envelope) = n.prescription_id
      )
    order by ask_again_at limit ${mostDue}`.execute(db);
  return rows;
}

/** @param keepDays undefined: it is not asked for again */
async function askAgain(
  { db, business }: FollowUpContext,
  { id }: NamedPrescription,
  keepDays?: number,
): Promise<void> {
  const again = keepDays === undefined ? sql`null` : againAfter(sql`first_asked_at`, keepDays);
  await sql`
    update named_prescriptions set ask_again_at = ${again}
    where business_id = ${business} and prescription_id = ${id}`.execute(db);
}

const names = fieldsInData(prescription.fields).map(([name]) => name);

/** The fields that a callback would have: what the doctor wrote is not stored. */
function fieldsOf(read: Readonly<Record<string, unknown>>, prescription_id: string) {
  const idOf = (value: unknown) => (value as { id?: unknown } | null | undefined)?.id;
  const named = { doctor_id: idOf(read.doctor), patient_id: idOf(read.patient), ...read, prescription_id };
  const known = Object.entries(named).filter(([name, value]) => names.includes(name) && value !== null);
  return fittingFields(prescription, Object.fromEntries(known));
}

/** A read has few fields: who it is about is told by the appointment, too. Without its row, there is no delivery. */
async function makeDelivery({ db, business }: FollowUpContext, due: NamedPrescription, read: object) {
  const { rows } = await sql<{ at: number; content: string }>`
    select
      trunc(extract(epoch from coalesce(callback_time(read->'created_at'), a.created_at, a.event_time)) * 1000)::float8 as at,
      jsonb_build_object(
        'event', ${prescription.reconciledBy!}::text, 'client_id', a.client_id, 'business_id', a.business_id,
        'data', jsonb_strip_nulls(jsonb_build_object(
          'doctor_id', a.doctor_id, 'partner_doctor_id', a.partner_doctor_id, 'patient_id', a.patient_id,
          'partner_patient_id', a.partner_patient_id, 'clinic_id', a.clinic_id, 'partner_clinic_id', a.partner_clinic_id,
          'partner_appointment_id', a.partner_appointment_id)) || read,
        'reconciled', jsonb_build_object('compared_with', null)
      )::text as content
    from appointments a cross join (select ${JSON.stringify(read)}::jsonb as read) told
    where a.business_id = ${business} and a.appointment_id = ${due.appointment}`.execute(db);
  return rows.map((made) => ({ ...made, day: due.day, comparedWith: null }));
}

/** Prescriptions that appointments name and that never came: they come in as deliveries. */
export const prescriptions: FollowUp<NamedPrescription> = {
  findDue,
  ask: async (context, due) => {
    const { db, intake, business, platform, signal } = context;
    const began = performance.now();
    const answer = await platform.prescription(due.id, signal);
    const made = answer ? await makeDelivery(context, due, fieldsOf(answer.prescription, due.id)) : [];
    if (!answer || made.length === 0) {
      await askAgain(context, due, 7);
      return 'unknown';
    }
    // What it tells was so when it was asked, or later.
    const askedAt = answer.answeredAt.getTime() - (performance.now() - began);
    const wholeSeconds = new Date(Math.floor(askedAt / 1000) * 1000);
    await supply(db, intake, business, made, wholeSeconds, prescription.name);
    await askAgain(context, due);
    return 'found';
  },
  postpone: (context, due) => askAgain(context, due, 30),
};

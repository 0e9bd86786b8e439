import { partnerId } from '../clinic.ts';
import { documentedEvent, type Envelope, type Family } from '../families.ts';
import type { Callback } from '../history.ts';

export type Fields = Record<string, unknown>;
export type Records = ReturnType<typeof newRecords>;

/** The length of a consultation, seconds. */
const slot = 900;

/**
 * The platform's records of one business, by default that of the first event: each is as the last event about it says.
 * Names, times of visits and the bank's references, which no callback has, are made up.
 */
export function newRecords(businessId?: string) {
  /** In the order of their booking. */
  const appointments = new Map<string, Fields>();
  const idsByPartnerId = new Map<unknown, string>();
  const prescriptions = new Map<string, Fields>();
  const admissions = new Map<string, Fields>();
  const payments = new Map<string, Fields>();
  const patients = new Map<string, Fields>();
  /** The doctors of each clinic. */
  const clinics = new Map<string, Set<string>>();
  let business = businessId;

  function takeAppointment({ status, patient_id, created_at, ...data }: Fields): void {
    const id = String(data.appointment_id);
    const start = Math.ceil(Number(created_at) / slot) * slot;
    const { source } = (data.partner_meta ?? {}) as { source?: unknown };
    const { start_time = start, end_time = Number(start_time) + slot } = data;
    idsByPartnerId.set(partnerId(id), id);
    appointments.set(id, {
      ...appointments.get(id),
      ...only(data, ['appointment_id', 'doctor_id', 'clinic_id', 'prev_aids', 'next_aid']),
      ...only(data, [
        'partner_appointment_id',
        'partner_doctor_id',
        'partner_clinic_id',
        'partner_patient_id',
      ]),
      status,
      patient_id,
      created_at,
      start_time,
      end_time,
      mode: 'in_clinic',
      channel: source ?? 'desk',
    });
    meet(data.clinic_id, data.doctor_id);
    takePatient(patient_id, { created_at });
  }

  function takePrescription(data: Fields): void {
    const { prescription_id, prescription_url } = data;
    const id = String(prescription_id);
    prescriptions.set(id, { ...prescriptions.get(id), ...data });
    const appointmentId = data.appointment_id ?? idsByPartnerId.get(data.partner_appointment_id);
    change(appointmentId, { prescription_id, ...(prescription_url !== undefined && { prescription_url }) });
  }

  function takeReceipt(data: Fields): void {
    takePatient(data.patient_oid, {
      ...only(data, ['name', 'mobile']),
      created_at: Number(data.created_at) / 1000,
    });
    meet(data.clinic_id, data.doctor_oid);
    if (typeof data.payment_id !== 'string') return;
    const payment = {
      transaction_id: data.payment_id,
      amount: data.amount_paid,
      created_at: data.updated_at,
      payment_mode: 'UPI',
      payment_gateway: 'sandbox',
      payment_status: 'PAYMENT_SUCCESS',
      rrn: String(payments.size + 1).padStart(12, '0'),
    };
    if (!payments.has(data.payment_id)) payments.set(data.payment_id, payment);
    const { payment_status, amount } = payment;
    change(data.aid, { payment: { payment_id: data.payment_id, payment_status, amount } });
  }

  const takers: Partial<Record<Family, (data: Fields) => void>> = {
    appointment: takeAppointment,
    prescription: takePrescription,
    receipt: takeReceipt,
    admission: (data) => admissions.set(String(data.id), { ...admissions.get(String(data.id)), ...data }),
  };

  function change(appointmentId: unknown, fields: Fields): void {
    const appointment = appointments.get(String(appointmentId));
    if (appointment) Object.assign(appointment, fields);
  }

  function takePatient(oid: unknown, fields: Fields): void {
    patients.set(String(oid), {
      ...fields,
      ...patients.get(String(oid)),
      ...only(fields, ['name', 'mobile']),
      oid,
    });
  }

  function meet(clinicId: unknown, doctorId: unknown): void {
    const doctors = clinics.get(String(clinicId)) ?? new Set();
    clinics.set(String(clinicId), doctors.add(String(doctorId)));
  }

  return {
    /** Changes the records as an event says, in the spelling of the contract; an event of another business changes none. */
    take({ event, business_id, data }: Pick<Envelope, 'event' | 'business_id' | 'data'>): void {
      business ??= business_id;
      if (business_id === business) takers[documentedEvent(event).family]?.(data);
    },
    appointments: appointments as ReadonlyMap<string, Readonly<Fields>>,
    prescriptions: prescriptions as ReadonlyMap<string, Readonly<Fields>>,
    admissions: admissions as ReadonlyMap<string, Readonly<Fields>>,
    payments: payments as ReadonlyMap<string, Readonly<Fields>>,
    patients: patients as ReadonlyMap<string, Readonly<Fields>>,
    clinics: clinics as ReadonlyMap<string, ReadonlySet<string>>,
    get businessId() {
      return business;
    },
  };
}

/** Callbacks, each of which changes the records before it is sent. */
export function* recorded(callbacks: Iterable<Callback>, records: Records): Generator<Callback, void> {
  for (const callback of callbacks) {
    records.take(callback.envelope);
    yield callback;
  }
}

/** The fields with these names, where they are present. */
function only(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

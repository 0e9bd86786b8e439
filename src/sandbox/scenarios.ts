import type { Family } from './families.ts';
import type { Random } from './random.ts';
import { type Fields, samples } from './samples.ts';

export interface ScenarioEvent {
  readonly event: string;
  readonly data: Fields;
  /** Where the data alone does not say what it is about. */
  readonly transaction_id?: string;
}

/** What happens at a clinic: events, and minutes that pass. */
export type Scenario = Generator<ScenarioEvent | number, void>;

/** The time, milliseconds since 1970. */
type Clock = () => number;

const digits = '0123456789';
const hex = '0123456789abcdef';
const firstNames = "Asha Ravi Meera आशा रवि கவிதா మీనా অনিতা عائشہ ਗੁਰਪ੍ਰੀਤ Zoë D'Sa".split(' ');
const lastNames = ['Sample', 'Kumar', 'शर्मा', 'முருகன்', 'రెడ్డి', 'সেন', 'خان', 'ਸਿੰਘ', 'Müller-Rao', ''];

/** An id of 15 digits, as patients and doctors have. */
const personId = (random: Random) => random.pick(['1', '2', '6', '7']) + random.text(14, digits);
/** An id of 24 hexadecimal digits, as clinics, clients and prescriptions have. */
export const hexId = (random: Random) => random.text(24, hex);
const uuid = (random: Random) => [8, 4, 4, 4, 12].map((length) => random.text(length, hex)).join('-');
const partnerId = (id: string) => `partner-${id.slice(-8)}`;
const inRupees = (paise: number) => paise / 100;

export type Clinic = ReturnType<typeof newClinic>;

export const newClinic = (random: Random, businessId?: string) => ({
  businessId: businessId ?? personId(random),
  clinicId: hexId(random),
  doctors: Array.from({ length: random.between(1, 4) }, () => personId(random)),
  nextReceipt: random.between(1, 5_000),
});

function newVisit(random: Random, { doctors, clinicId }: Clinic) {
  const doctor_id = random.pick(doctors);
  const patient_id = personId(random);
  return {
    // An appointment's id is a UUID behind a short prefix.
    appointment_id: `${random.pick(['d', 'api'])}-${uuid(random)}`,
    about: { doctor_id, patient_id, clinic_id: clinicId },
    partners: {
      partner_doctor_id: partnerId(doctor_id),
      partner_patient_id: partnerId(patient_id),
      partner_clinic_id: partnerId(clinicId),
    },
    name: `${random.pick(firstNames)} ${random.pick(lastNames)}`.trim(),
    // No Indian mobile number begins with 5.
    mobile: `+915${random.text(9, digits)}`,
  };
}

type Visit = ReturnType<typeof newVisit>;

const firstTimes = ['created_at', 'admission_date', 'date'];
const lastTimes = ['updated_at', 'modified_at', 'at', 'completed_at'];

/** A time in the spelling of the sample: text, milliseconds or seconds. */
function spelled(sample: unknown, now: number): string | number {
  if (typeof sample === 'string') return new Date(now).toISOString();
  return Number(sample) > 1e11 ? now : Math.floor(now / 1000);
}

/** The versions of a record: the sample of its family with these fields, with what a version changes, and with its times. */
function recordOf(family: Family, clock: Clock, fields: Fields) {
  const sample: Fields = samples[family].data;
  const { prev_aids: _, next_aid: __, workflow_data: ___, ...kept } = { ...sample, ...fields } as Fields;
  let firstAt = 0;
  let lastAt = 0;
  return (changes: Fields = {}): Fields => {
    firstAt ||= clock();
    // Versions within a second would have no order.
    lastAt = Math.max(clock(), Number(sample.updated_at) > 1e11 ? 0 : lastAt + 1_000);
    Object.assign(kept, changes);
    for (const name of firstTimes) if (name in kept) kept[name] = spelled(sample[name], firstAt);
    for (const name of lastTimes) if (kept[name] != null) kept[name] = spelled(sample[name], lastAt);
    return { ...kept };
  };
}

/** An appointment with all that it leads to: it is booked, then cancelled or missed, or the patient comes. */
function* visitScenario(random: Random, clinic: Clinic, clock: Clock): Scenario {
  const visit = newVisit(random, clinic);
  const { appointment_id, about, partners } = visit;
  const ofVisit = { appointment_id, ...about };
  const partner_appointment_id = partnerId(appointment_id);
  const appointment = recordOf('appointment', clock, { ...ofVisit, ...partners, partner_appointment_id });
  const version = (action: string, changes: Fields = {}) => ({
    event: `appointment.${action}`,
    data: appointment(changes),
  });
  yield version('created');
  yield 5;
  if (random.chance(0.2)) yield version('updated', { action: 'updated' });
  if (random.chance(0.3)) yield { event: 'appointment.reminder_instant', data: ofVisit };
  // Some come at once, others some hours or a day later.
  yield random.pick([10, 60, 180, 1_440]);
  if (random.chance(0.15)) return void (yield version('statuschange', { status: random.pick(['CN', 'NS']) }));
  yield version('statuschange', { status: 'CK' });
  yield 10;
  if (random.chance(0.2)) yield version('assessments.taken', { workflow_data: { 'sa-1': 'result-1' } });
  yield version('statuschange', { status: 'OG' });
  if (random.chance(0.1)) {
    const room = `https://video.example/${hexId(random)}`;
    const video_connect = { host_link: `${room}/host`, meet_link: room, vendor: 'example' };
    yield { event: 'appointment.tele.dr_joined', data: { ...ofVisit, video_connect } };
  }
  yield 10;
  if (random.chance(0.8)) yield* prescriptionScenario(random, visit, clock);
  yield version('statuschange', { status: 'CM' });
  yield 3;
  yield* receiptScenario(random, clinic, visit, clock);
  if (random.chance(0.3)) yield* consentFormScenario(random, clinic, visit);
  if (random.chance(0.4)) {
    yield 60;
    const event = random.chance(0.1) ? 'google_review.request_manual' : 'google_review.request';
    const google_review_link = `https://reviews.example/${clinic.clinicId}`;
    yield { event, data: { ...ofVisit, google_review_link } };
  }
  if (random.chance(0.2)) yield { event: 'appointment.followup_reminder_instant', data: ofVisit };
  if (random.chance(0.1)) {
    const { doctor_id, patient_id } = about;
    const { booking_link, doctor_name, vaccines } = samples.notice.data;
    const due_date = new Date(clock() + 14 * 86_400_000).toISOString().slice(0, 10);
    const data = {
      doctor_id,
      patient_id,
      patient_name: visit.name,
      doctor_name,
      booking_link,
      due_date,
      vaccines,
    };
    yield { event: 'vaccination.reminder', data };
  }
}

function* prescriptionScenario(random: Random, visit: Visit, clock: Clock): Scenario {
  const { appointment_id, about, partners } = visit;
  const prescription_id = hexId(random);
  const url = `https://storage.example/prescriptions/${prescription_id}`;
  const urls = { prescription_url: `${url}.pdf`, prescription_url_print: `${url}-print.pdf` };
  const ids = { prescription_id, ...about, ...partners, partner_appointment_id: partnerId(appointment_id) };
  const version = recordOf('prescription', clock, {
    ...ids,
    ...urls,
    current_version: 'v1',
    previous_version: '',
  });
  yield { event: 'prescription.created', data: version() };
  yield 2;
  const updated = { action: 'updated', current_version: 'v2', previous_version: 'v1' };
  if (random.chance(0.2)) yield { event: 'prescription.updated', data: version(updated) };
  if (random.chance(0.2)) {
    const { doc_name, patient_name, actor_oid } = samples.notice.data;
    const data = { appointment_id, ...about, prescription_id, ...urls, doc_name, patient_name, actor_oid };
    yield { event: 'prescription.communication', data };
  }
}

/** A receipt (section 2.2): paid in full, in parts or not, sometimes corrected or deleted. */
function* receiptScenario(random: Random, clinic: Clinic, visit: Visit, clock: Clock): Scenario {
  const { doctor_id, patient_id, clinic_id } = visit.about;
  const amount = random.between(50, 5_000) * 100;
  const discount = random.chance(0.3) ? random.between(1, 3_000) : 0;
  const net = amount - discount;
  const receipt_id = clinic.nextReceipt++;
  let paid = random.chance(0.5) ? net : 0;
  const record = recordOf('receipt', clock, {
    ...{ receipt_id, aid: visit.appointment_id, doctor_oid: doctor_id, clinic_id, patient_oid: patient_id },
    ...{ name: visit.name, mobile: visit.mobile, payment_id: null, payment_link: null },
    receipt_url: `https://storage.example/receipts/${clinic.businessId}-${receipt_id}.pdf`,
    receipt_amount: inRupees(amount),
    additional_discount_value: inRupees(discount),
    additional_discount_amount: inRupees(discount),
    net_amount: inRupees(net),
    remarks: random.pick(['', '', '', 'Paid at the desk', 'अगली बार शेष']),
  });
  const version = (action: string, changes: Fields = {}) => ({
    event: `receipt.${action}`,
    data: record({ amount_paid: inRupees(paid), amount_due: inRupees(net - paid), ...changes }),
  });
  yield version('created');
  if (paid < net && random.chance(0.5)) {
    const { appointment_id, about } = visit;
    const url = `https://pay.example/${hexId(random)}`;
    const { clinic_id: _, ...people } = about;
    yield {
      event: 'receipt_payment.requested',
      data: { appointment_id, ...people, net_amount: inRupees(net - paid), url },
    };
  }
  while (paid < net && random.chance(0.8)) {
    yield 3;
    paid = random.chance(0.5) ? net : paid + random.between(1, net - paid);
    const reference = random.text(12, hex);
    const payment = { payment_id: `pay_${reference}`, payment_link: `https://pay.example/${reference}` };
    yield version('updated', payment);
  }
  yield 10;
  if (random.chance(0.2)) yield version('updated', { remarks: `Corrected ${random.between(1, 99)}` });
  if (random.chance(0.1)) yield version('deleted', { archive: 1 });
}

function* consentFormScenario(random: Random, { businessId }: Clinic, { about }: Visit): Scenario {
  const id = `mc-${hexId(random)}`;
  const of = { id, docid: about.doctor_id, patientid: about.patient_id, owner: businessId, type: 'mcert' };
  const urls = () => {
    const url = `https://storage.example/forms/${hexId(random)}`;
    return { url: `${url}.pdf`, sendurlpdf: `${url}-send.pdf` };
  };
  yield { event: 'mcert.created', data: { ...of, ...urls() } };
  yield 5;
  if (random.chance(0.4)) yield { event: 'mcert.updated', data: { ...of, ...urls() } };
}

/** A doctor starts to practise, is available for consultations, and stops. */
function* practiceScenario(random: Random, clinic: Clinic, clock: Clock): Scenario {
  const { about, partners } = newVisit(random, clinic);
  const { patient_id: _, ...ids } = about;
  const { partner_patient_id: __, ...partnerIds } = partners;
  const version = recordOf('practice_change', clock, { ...ids, ...partnerIds });
  yield { event: 'schedule.start_practice', data: version() };
  yield 10;
  yield { event: 'schedule.available_for_consultation', data: version() };
  yield 240;
  yield { event: 'schedule.stop_practice', data: version() };
}

/** An admission to a hospital: billed and paid; with its clearances the patient leaves. */
function* admissionScenario(random: Random, clinic: Clinic, clock: Clock): Scenario {
  const { about, name, mobile } = newVisit(random, clinic);
  const id = hexId(random);
  const of = (kind: string, key: string) => `ipd/${clinic.businessId}/admissions/${id}/${kind}/${key}`;
  const record = recordOf('admission', clock, {
    ...{ id, ipid: `IP-${id.slice(-4)}`, pid: about.patient_id, bid: clinic.businessId },
    ...{ docid: about.doctor_id, facilityid: about.clinic_id, stage: 'admitted', status: 'active' },
    ...{
      patient: { name, phone: mobile, gender: random.pick(['M', 'F', 'O']) },
      totalbilled: 0,
      totalpaid: 0,
    },
  });
  const admission = (action: string, changes: Fields = {}) => ({
    event: `ipd_admissions.${action}`,
    data: record(changes),
  });
  /** The versions of what belongs to it. */
  const part = (family: 'event' | 'clearance' | 'estimate', key: string, fields: Fields) => {
    const version = recordOf(`admission_${family}`, clock, fields);
    return (action: string, changes: Fields = {}) => ({
      event: `ipd_admissions_${family}s.${action}`,
      transaction_id: of(`${family}s`, key),
      data: version(changes),
    });
  };
  const [eventId, estimateId] = [hexId(random), hexId(random)];
  const event = part('event', eventId, { id: eventId, kind: 'admitted', to: `B-${random.between(1, 40)}` });
  const estimate = part('estimate', estimateId, { id: estimateId, quantity: 1 });
  const clearance = part('clearance', 'billing', { completed_at: null, completed_by: null });
  yield admission('created');
  yield event('created');
  yield 5;
  yield estimate('created');
  yield 60;
  yield event('updated', { to: `B-${random.between(41, 80)}` });
  yield estimate('updated', { quantity: 2 });
  const totalbilled = inRupees(random.between(10_000, 2_000_000));
  yield admission('updated', { totalbilled });
  yield clearance('created');
  yield 60;
  const completed_at = Math.floor(clock() / 1000);
  yield clearance('updated', {
    status: 'completed',
    completed_at,
    completed_by: { id: 'u-1', name: 'Nurse One' },
  });
  yield 10;
  if (random.chance(0.8))
    yield admission('updated', { totalpaid: totalbilled, stage: 'discharged', status: 'completed' });
}

/** A patient's health account: created, shared at a counter, and the records of a visit linked to it. */
function* healthAccountScenario(random: Random, clinic: Clinic): Scenario {
  const { about, partners } = newVisit(random, clinic);
  const account = {
    abha_address: `sample.${random.text(10, digits)}@example`,
    hip_id: clinic.clinicId,
    oid: about.patient_id,
    partner_patient_id: partners.partner_patient_id,
  };
  const abha_number = [2, 4, 4, 4].map((length) => random.text(length, digits)).join('-');
  yield { event: 'abha.created', data: { ...account, abha_number } };
  yield 30;
  const request = { hip_code: `counter-${random.between(1, 4)}`, req_id: hexId(random) };
  yield { event: 'abha.hip_profile_share', data: { ...account, abha_number, ...request } };
  const context = { ...account, care_context_id: hexId(random) };
  const failed = { status: 'FAILED', error: 'The account does not answer', retry_count: 0 };
  if (random.chance(0.3)) yield { event: 'abha.link_care_context', data: { ...context, ...failed } };
  yield 5;
  yield {
    event: 'abha.link_care_context',
    data: { ...context, status: 'LINKED', error: null, retry_count: 1 },
  };
}

/** A booking through a network for health services: confirmed, then kept or cancelled. */
function* bookingScenario(random: Random, clinic: Clinic, clock: Clock): Scenario {
  const { about, name, mobile } = newVisit(random, clinic);
  const order = {
    order_id: hexId(random),
    slot: { start: Math.floor(clock() / 1000) + random.between(1, 72) * 3_600 },
    doctor: { id: about.doctor_id, name: 'Dr Meera Sample' },
    billing: { name, phone: mobile, email: 'sample@mail.example', address: 'Sample Street 1' },
    patient: { id: about.patient_id, dob: '1990-01-01', gender: random.pick(['M', 'F', 'O']) },
  };
  const version = (action: string, state: string) => ({
    event: `booking.${action}`,
    data: { ...order, state },
  });
  yield version('init', 'INITIATED');
  yield 2;
  yield version('confirm', 'CONFIRMED');
  yield 120;
  yield random.chance(0.3) ? version('cancel', 'CANCELLED') : version('status', 'COMPLETED');
}

/** As often as they begin at a clinic. */
export const scenarios = [
  ...Array.from({ length: 16 }, () => visitScenario),
  practiceScenario,
  admissionScenario,
  healthAccountScenario,
  bookingScenario,
];

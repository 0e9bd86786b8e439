import { documentedEvent, type Envelope, type Family } from './families.ts';
import type { Random } from './random.ts';
import { type Fields, type Sample, samples } from './samples.ts';

type ScenarioEvent = Pick<Envelope, 'event' | 'data' | 'transaction_id'>;

/** What happens at a clinic: events, and minutes that pass; undefined: an event that is not wanted. */
export type Scenario = Generator<ScenarioEvent | number | undefined, void>;

export interface ScenarioOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The families of its events. */
  readonly families: readonly Family[];
  /** Whether an update has nothing but its key and what it changes. */
  readonly isLean: () => boolean;
}

const digits = '0123456789';
const hex = '0123456789abcdef';
const firstNames = "Asha Ravi Meera आशा रवि கவிதா మీనా অনিতা عائشہ ਗੁਰਪ੍ਰੀਤ Zoë D'Sa".split(' ');
const lastNames = ['Sample', 'Kumar', 'शर्मा', 'முருகன்', 'రెడ్డి', 'সেন', 'خان', 'ਸਿੰਘ', 'Müller-Rao', ''];

/** An id of 15 digits, as patients and doctors have. */
const personId = (random: Random) => random.pick(['1', '2', '6', '7']) + random.text(14, digits);
/** An id of 24 hexadecimal digits, as clinics, clients and prescriptions have. */
export const hexId = (random: Random) => random.text(24, hex);
const uuid = (random: Random) => [8, 4, 4, 4, 12].map((length) => random.text(length, hex)).join('-');
const inRupees = (paise: number) => paise / 100;

export type Clinic = ReturnType<typeof newClinic>;

export const newClinic = (random: Random, businessId?: string) => ({
  businessId: businessId ?? personId(random),
  clinicId: hexId(random),
  doctors: Array.from({ length: random.between(1, 4) }, () => personId(random)),
  nextReceipt: random.between(1, 5_000),
});

/** Texts of the samples, each with what it is at a visit of one patient. */
function replacements(random: Random, clinic: Clinic, receiptId: number): Record<string, string> {
  const { appointment, receipt, health_account } = samples;
  const { doctor_id, patient_id, clinic_id } = appointment.data;
  const [doctor, patient] = [random.pick(clinic.doctors), personId(random)];
  const appointmentId = `${random.pick(['d', 'api'])}-${uuid(random)}`;
  const own = ['rx', 'mc', 'adm', 'ev', 'est', 'cc', 'order', 'req'].map((kind) => [
    `${kind}-1`,
    hexId(random),
  ]);
  const page = hexId(random);
  return {
    ...Object.fromEntries(own),
    [doctor_id]: doctor,
    [patient_id]: patient,
    [clinic_id]: clinic.clinicId,
    [samples.consent_form.data.owner]: clinic.businessId,
    'doc-1': `partner-${doctor.slice(-8)}`,
    'pat-1': `partner-${patient.slice(-8)}`,
    'clinic-1': `partner-${clinic.clinicId.slice(-8)}`,
    'apt-1': `partner-${appointmentId.slice(-8)}`,
    'hip-1': clinic.clinicId,
    'IP-1': `IP-${page.slice(-4)}`,
    [appointment.data.appointment_id]: appointmentId,
    [samples.review_request.data.appointment_id]: appointmentId,
    [receipt.data.name]: `${random.pick(firstNames)} ${random.pick(lastNames)}`.trim(),
    // No Indian mobile number begins with 5.
    [receipt.data.mobile]: `+915${random.text(9, digits)}`,
    [health_account.data.abha_address]: `sample.${random.text(10, digits)}@example`,
    [health_account.data.abha_number]: [2, 4, 4, 4].map((length) => random.text(length, digits)).join('-'),
    'r/4711': `r/${clinic.businessId}-${receiptId}`,
    'ipd/b': `ipd/${clinic.businessId}`,
    'invalid/': `invalid/${page}/`,
  };
}

const firstTimes = ['created_at', 'admission_date', 'date'];
const lastTimes = ['updated_at', 'modified_at', 'at', 'completed_at'];
/** What an appointment gets later, if at all. */
const laterFields = ['prev_aids', 'next_aid', 'workflow_data'];

/** A time in the spelling of the sample: text, milliseconds or seconds. */
function spelled(sample: unknown, now: number): string | number {
  if (typeof sample === 'string') return new Date(now).toISOString();
  return Number(sample) > 1e11 ? now : Math.floor(now / 1000);
}

const sampleTexts = Object.fromEntries(
  Object.entries<Sample>(samples).map(([family, { data, transaction_id }]) => {
    const kept = Object.entries(data).filter(([name]) => !laterFields.includes(name));
    return [family, JSON.stringify([Object.fromEntries(kept), transaction_id && { transaction_id }])];
  }),
);

/** What is replaced in them: the same in each scenario. */
let pattern: RegExp | undefined;

/** An event of the one record that a scenario has of its family. */
type Emit = (event: string, changes?: Fields, only?: readonly string[]) => ScenarioEvent | undefined;

/** The events of a scenario: the sample of the family with the ids and names of this patient, with all changes so far, and its times. */
function createEmit(ids: Record<string, string>, { clock, families, isLean }: ScenarioOptions): Emit {
  pattern ??= new RegExp(Object.keys(ids).join('|').replace(/[+.]/g, '\\$&'), 'g');
  const records = new Map<Family, { data: Fields; transaction: object; firstAt: number; lastAt: number }>();

  return (event, changes = {}, only) => {
    const { family, identifiedBy } = documentedEvent(event);
    if (!families.includes(family)) return undefined;
    const sample: Fields = samples[family].data;
    const existing = records.get(family);
    const record = existing ?? makeRecord(sampleTexts[family]!);
    records.set(family, record);
    // Versions within a second would have no order.
    record.lastAt = Math.max(clock(), Number(sample.updated_at) > 1e11 ? 0 : record.lastAt + 1_000);
    Object.assign(record.data, changes);
    const { data } = record;
    for (const name of firstTimes) if (name in data) data[name] = spelled(sample[name], record.firstAt);
    for (const name of lastTimes) if (data[name] != null) data[name] = spelled(sample[name], record.lastAt);
    const isChanged = (name: string) => name in changes || lastTimes.includes(name);
    const isKept = (name: string) =>
      identifiedBy.includes(name) || (!event.endsWith('.deleted') && isChanged(name));
    const names = existing && identifiedBy.length > 0 && isLean() ? Object.keys(data).filter(isKept) : only;
    return { event, ...record.transaction, data: names ? pick(data, names) : { ...data } };
  };

  function makeRecord(text: string) {
    const [data, transaction] = JSON.parse(text.replace(pattern!, (part) => ids[part]!));
    return { data, transaction, firstAt: clock(), lastAt: 0 };
  }
}

const pick = (data: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(names.filter((name) => name in data).map((name) => [name, data[name]]));

const ofVisit = ['appointment_id', 'doctor_id', 'patient_id', 'clinic_id'];

/** An appointment with all that it leads to: it is booked, then cancelled or missed, or the patient comes. */
function* visit(random: Random, emit: Emit, receiptId: number, clock: () => number): Scenario {
  const status = (value: string) => emit('appointment.statuschange', { status: value });
  yield emit('appointment.created');
  yield 5;
  if (random.chance(0.2)) yield emit('appointment.updated', { action: 'updated' });
  if (random.chance(0.3)) yield emit('appointment.reminder_instant', {}, ofVisit);
  // Some come at once, others some hours or a day later.
  yield random.pick([10, 60, 180, 1_440]);
  if (random.chance(0.15)) return void (yield status(random.pick(['CN', 'NS'])));
  yield status('CK');
  yield 10;
  if (random.chance(0.2))
    yield emit('appointment.assessments.taken', { workflow_data: { 'sa-1': 'result-1' } });
  yield status('OG');
  if (random.chance(0.1)) yield emit('appointment.tele.dr_joined', {}, [...ofVisit, 'video_connect']);
  yield 10;
  if (random.chance(0.8)) yield* prescription(random, emit);
  yield status('CM');
  yield 3;
  yield* receipt(random, emit, receiptId);
  if (random.chance(0.3)) {
    yield emit('mcert.created');
    yield 5;
    const url = `https://files.invalid/${hexId(random)}`;
    if (random.chance(0.4)) yield emit('mcert.updated', { url: `${url}.pdf`, sendurlpdf: `${url}-send.pdf` });
  }
  if (random.chance(0.4)) {
    yield 60;
    yield emit(random.chance(0.1) ? 'google_review.request_manual' : 'google_review.request');
  }
  if (random.chance(0.2)) yield emit('appointment.followup_reminder_instant', {}, ofVisit);
  if (random.chance(0.1)) {
    const due_date = new Date(clock() + 14 * 86_400_000).toISOString().slice(0, 10);
    const names = [
      'doctor_id',
      'patient_id',
      'patient_name',
      'doctor_name',
      'booking_link',
      'due_date',
      'vaccines',
    ];
    yield emit('vaccination.reminder', { due_date }, names);
  }
}

function* prescription(random: Random, emit: Emit): Scenario {
  yield emit('prescription.created', { current_version: 'v1', previous_version: '' });
  yield 2;
  const updated = { action: 'updated', current_version: 'v2', previous_version: 'v1' };
  if (random.chance(0.2)) yield emit('prescription.updated', updated);
  const names = ['prescription_id', 'prescription_url', 'doc_name', 'patient_name', 'actor_oid'];
  if (random.chance(0.2)) yield emit('prescription.communication', {}, [...ofVisit, ...names]);
}

/** A receipt (section 2.2): paid in full, in parts or not, sometimes corrected or deleted. */
function* receipt(random: Random, emit: Emit, receipt_id: number): Scenario {
  const amount = random.between(50, 5_000) * 100;
  const discount = random.chance(0.3) ? random.between(1, 3_000) : 0;
  const net = amount - discount;
  let paid = random.chance(0.5) ? net : 0;
  const amounts = () => ({ amount_paid: inRupees(paid), amount_due: inRupees(net - paid) });
  yield emit('receipt.created', {
    ...{ receipt_id, receipt_amount: inRupees(amount), net_amount: inRupees(net), ...amounts() },
    ...{ additional_discount_value: inRupees(discount), additional_discount_amount: inRupees(discount) },
    ...{ payment_id: null, payment_link: null },
    remarks: random.pick(['', '', '', 'Paid at the desk', 'अगली बार शेष']),
  });
  if (paid < net && random.chance(0.5))
    yield emit('receipt_payment.requested', { net_amount: inRupees(net - paid) });
  while (paid < net && random.chance(0.8)) {
    yield 3;
    paid = random.chance(0.5) ? net : paid + random.between(1, net - paid);
    const reference = random.text(12, hex);
    const payment = { payment_id: `pay_${reference}`, payment_link: `https://pay.invalid/${reference}` };
    yield emit('receipt.updated', { ...payment, ...amounts() });
  }
  yield 10;
  if (random.chance(0.2)) yield emit('receipt.updated', { remarks: `Corrected ${random.between(1, 99)}` });
  if (random.chance(0.1)) yield emit('receipt.deleted', { archive: 1 });
}

/** A doctor starts to practise, is available for consultations, and stops. */
function* practice(_: Random, emit: Emit): Scenario {
  yield emit('schedule.start_practice');
  yield 10;
  yield emit('schedule.available_for_consultation');
  yield 240;
  yield emit('schedule.stop_practice');
}

/** An admission to a hospital: billed and paid; with its clearances the patient leaves. */
function* admission(random: Random, emit: Emit): Scenario {
  const admitted = { stage: 'admitted', status: 'active', totalbilled: 0, totalpaid: 0 };
  yield emit('ipd_admissions.created', admitted);
  yield emit('ipd_admissions_events.created', { kind: 'admitted', to: `B-${random.between(1, 40)}` });
  yield 5;
  yield emit('ipd_admissions_estimates.created', { quantity: 1 });
  yield 60;
  yield emit('ipd_admissions_events.updated', { to: `B-${random.between(41, 80)}` });
  yield emit('ipd_admissions_estimates.updated', { quantity: 2 });
  const totalbilled = inRupees(random.between(10_000, 2_000_000));
  yield emit('ipd_admissions.updated', { totalbilled });
  yield emit('ipd_admissions_clearances.created', { completed_at: null, completed_by: null });
  yield 60;
  const { completed_at, completed_by } = samples.admission_clearance.data;
  yield emit('ipd_admissions_clearances.updated', { status: 'completed', completed_at, completed_by });
  yield 10;
  const discharged = { totalpaid: totalbilled, stage: 'discharged', status: 'completed' };
  if (random.chance(0.8)) yield emit('ipd_admissions.updated', discharged);
}

/** A patient's health account: created, shared at a counter, and the records of a visit linked to it. */
function* healthAccount(random: Random, emit: Emit): Scenario {
  const account = ['abha_address', 'abha_number', 'hip_id', 'oid', 'partner_patient_id'];
  yield emit('abha.created', {}, account);
  yield 30;
  yield emit('abha.hip_profile_share', { hip_code: `counter-${random.between(1, 4)}` });
  const failed = { status: 'FAILED', error: 'The account does not answer', retry_count: 0 };
  if (random.chance(0.3)) yield emit('abha.link_care_context', failed);
  yield 5;
  yield emit('abha.link_care_context', { status: 'LINKED', error: null, retry_count: 1 });
}

/** A booking through a network for health services: confirmed, then kept or cancelled. */
function* booking(random: Random, emit: Emit, _: number, clock: () => number): Scenario {
  const slot = { start: Math.floor(clock() / 1000) + random.between(1, 72) * 3_600 };
  yield emit('booking.init', { state: 'INITIATED', slot });
  yield 2;
  yield emit('booking.confirm', { state: 'CONFIRMED' });
  yield 120;
  const [event, state] = random.chance(0.3) ? ['cancel', 'CANCELLED'] : ['status', 'COMPLETED'];
  yield emit(`booking.${event}`, { state });
}

/** As often as they begin at a clinic. */
const scenarios = [...Array.from({ length: 16 }, () => visit), practice, admission, healthAccount, booking];

/** A scenario of a patient at a clinic. */
export function startScenario(random: Random, clinic: Clinic, options: ScenarioOptions): Scenario {
  const scenario = random.pick(scenarios);
  const receiptId = clinic.nextReceipt++;
  const emit = createEmit(replacements(random, clinic, receiptId), options);
  return scenario(random, emit, receiptId, options.clock);
}

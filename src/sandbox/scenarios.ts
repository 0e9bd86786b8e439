import { callbackEvents, type Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { hexId, type Random } from './random.ts';
import { type Beginning, minute, timeAfterDays } from './schedule.ts';
import { createEmit, type Emit, type Fields, type ScenarioEvent, type VisitOptions } from './visit.ts';

/** What happens at a clinic: events, and minutes that pass; undefined: an event that is not wanted. */
export type Scenario = Generator<ScenarioEvent | number | undefined, void>;

const inRupees = (paise: number) => paise / 100;
const namesOfVisit = ['appointment_id', 'doctor_id', 'patient_id', 'clinic_id'];

interface Visit {
  random: Random;
  emit: Emit;
  /** Minutes from the booking to the appointment. */
  lead: number;
  startsAt: number;
  clock: () => number;
  /** Of its receipt. */
  number: () => string;
}

function* visit({ random, emit, lead, startsAt, clock, number }: Visit): Scenario {
  const status = (value: string) => emit('appointment.statuschange', { status: value });
  yield emit('appointment.created', { start_time: startsAt / 1000 });
  let left = lead;
  function* waitUntil(minutesBefore: number) {
    yield Math.max(0, left - minutesBefore);
    left = Math.min(left, minutesBefore);
  }
  yield* waitUntil(lead - 2);
  if (random.chance(0.1)) yield emit('appointment.updated', { action: 'updated' });
  yield* waitUntil(random.between(60, 120));
  if (random.chance(0.08)) return void (yield status(random.pick(['CN', 'CND', 'CNS'])));
  if (random.chance(0.2)) yield emit('appointment.reminder_instant', {}, namesOfVisit);
  yield* waitUntil(random.between(-40, 80) / 10);
  if (random.chance(0.07)) {
    yield 30;
    return void (yield status('NS'));
  }
  yield status('CK');
  yield random.between(1, 6);
  if (random.chance(0.1))
    yield emit('appointment.assessments.taken', { workflow_data: { 'sa-1': 'result-1' } });
  yield status('OG');
  if (random.chance(0.05)) yield emit('appointment.tele.dr_joined', {}, [...namesOfVisit, 'video_connect']);
  yield random.between(5, 15);
  if (random.chance(0.15)) yield* consentForm(random, emit);
  const hasPrescription = random.chance(0.7);
  if (hasPrescription) yield* prescription(random, emit);
  yield status(hasPrescription ? 'CM' : 'CMNP');
  yield random.between(1, 4);
  const bill = newBill(random);
  yield* issue(bill, number(), random, emit);
  if (random.chance(0.3)) {
    yield 60;
    yield emit(random.chance(0.1) ? 'google_review.request_manual' : 'google_review.request');
  }
  if (random.chance(0.1)) yield emit('appointment.followup_reminder_instant', {}, namesOfVisit);
  if (random.chance(0.05)) {
    const due_date = new Date(clock() + 14 * 86_400_000).toISOString().slice(0, 10);
    const people = ['doctor_id', 'patient_id', 'patient_name', 'doctor_name'];
    yield emit('vaccination.reminder', { due_date }, [...people, 'booking_link', 'due_date', 'vaccines']);
  }
  yield* settle(bill, random, emit, clock);
}

function* consentForm(random: Random, emit: Emit): Scenario {
  yield emit('mcert.created');
  yield 1;
  const url = `https://files.invalid/${hexId(random)}`;
  if (random.chance(0.4)) yield emit('mcert.updated', { url: `${url}.pdf`, sendurlpdf: `${url}-send.pdf` });
}

function* prescription(random: Random, emit: Emit): Scenario {
  yield emit('prescription.created', { current_version: 'v1', previous_version: '' });
  yield 2;
  const updated = { action: 'updated', current_version: 'v2', previous_version: 'v1' };
  if (random.chance(0.1)) yield emit('prescription.updated', updated);
  const names = ['prescription_id', 'prescription_url', 'doc_name', 'patient_name', 'actor_oid'];
  if (random.chance(0.15)) yield emit('prescription.communication', {}, [...namesOfVisit, ...names]);
}

/** In paise. */
interface Bill {
  amount: number;
  discount: number;
  paid: number;
}

/** A consultation, some with medicines: most are paid at once, others in part or not. */
function newBill(random: Random): Bill {
  const fee = random.between(6, 30) * 5_000;
  const amount = fee + (random.chance(0.25) ? random.between(4_000, 150_000) : 0);
  const discount = random.chance(0.15) ? random.between(1, 4) * 5_000 : 0;
  const net = amount - discount;
  const paid = random.pick([net, net, net, net, Math.floor(net / 20_000) * 10_000, 0]);
  return { amount, discount, paid };
}

const dueOf = ({ amount, discount, paid }: Bill) => amount - discount - paid;

const amountsOf = (bill: Bill) => ({
  additional_discount_value: inRupees(bill.discount),
  additional_discount_amount: inRupees(bill.discount),
  net_amount: inRupees(bill.amount - bill.discount),
  amount_paid: inRupees(bill.paid),
  amount_due: inRupees(dueOf(bill)),
});

/** A receipt (section 2.2), sometimes corrected. */
function* issue(bill: Bill, receipt_number: string, random: Random, emit: Emit): Scenario {
  yield emit('receipt.created', {
    receipt_number,
    receipt_amount: inRupees(bill.amount),
    ...amountsOf(bill),
    payment_id: null,
    payment_link: null,
    remarks: random.pick(['', '', '', 'Paid at the desk', 'अगली बार शेष']),
  });
  if (!random.chance(0.05)) return;
  yield 3;
  yield emit('receipt.updated', { remarks: `Corrected ${random.between(1, 99)}` });
}

/** What becomes of a receipt: dues are requested and paid, some money goes back, and some receipts are deleted. */
function* settle(bill: Bill, random: Random, emit: Emit, clock: () => number): Scenario {
  const later = (maxDays: number) =>
    (timeAfterDays(random, clock(), random.between(1, maxDays)) - clock()) / minute;
  if (random.chance(0.04)) {
    yield later(1);
    return void (yield emit('receipt.deleted', { archive: 1 }));
  }
  if (dueOf(bill) === 0 && random.chance(0.03)) {
    yield later(5);
    const refund = Math.min(bill.paid, random.between(2, 6) * 5_000);
    bill.discount += refund;
    bill.paid -= refund;
    return void (yield emit('receipt.updated', amountsOf(bill)));
  }
  if (dueOf(bill) > 0 && random.chance(0.3))
    yield emit('receipt_payment.requested', { net_amount: inRupees(dueOf(bill)) });
  while (dueOf(bill) > 0 && random.chance(0.7)) {
    yield later(20);
    bill.paid += random.chance(0.8) ? dueOf(bill) : Math.ceil(dueOf(bill) / 2);
    const reference = hexId(random);
    const { amount_paid, amount_due } = amountsOf(bill);
    const payment = { payment_id: `pay_${reference}`, payment_link: `https://pay.invalid/${reference}` };
    yield emit('receipt.updated', { ...payment, amount_paid, amount_due });
  }
}

type Step = [minutes: number, event: string, changes?: Fields];
type RareScenario = (random: Random, clock: () => number) => Step[];

const rareScenarios: RareScenario[] = [
  // A doctor starts to practise, is available for consultations, and stops.
  (random) => [
    // A doctor may start twice in a second.
    [0, 'schedule.start_practice', { partner_meta: { reference: hexId(random) } }],
    [10, 'schedule.available_for_consultation'],
    [240, 'schedule.stop_practice'],
  ],

  // An admission to a hospital: billed and paid; with its clearances the patient leaves.
  (random) => {
    const totalbilled = inRupees(random.between(10_000, 2_000_000));
    // The visit replaces the time.
    const completed = { status: 'completed', completed_at: 0, completed_by: { name: 'Nurse One' } };
    const discharged = { totalpaid: totalbilled, stage: 'discharged', status: 'completed' };
    return [
      [0, 'ipd_admissions.created', { stage: 'admitted', status: 'active', totalbilled: 0, totalpaid: 0 }],
      [0, 'ipd_admissions_events.created', { kind: 'admitted', to: `B-${random.between(1, 40)}` }],
      [5, 'ipd_admissions_estimates.created', { quantity: 1 }],
      [60, 'ipd_admissions_events.updated', { to: `B-${random.between(41, 80)}` }],
      [0, 'ipd_admissions_estimates.updated', { quantity: 2 }],
      [0, 'ipd_admissions.updated', { totalbilled }],
      [0, 'ipd_admissions_clearances.created', { completed_at: null, completed_by: null }],
      [60, 'ipd_admissions_clearances.updated', completed],
      ...(random.chance(0.8) ? [[10, 'ipd_admissions.updated', discharged] satisfies Step] : []),
    ];
  },

  // A patient's health account: created, shared at a counter, and the records of a visit linked to it.
  (random) => {
    const failed = { status: 'FAILED', error: 'The account does not answer', retry_count: 0 };
    return [
      [0, 'abha.created'],
      [30, 'abha.hip_profile_share', { hip_code: `counter-${random.between(1, 4)}` }],
      ...(random.chance(0.3) ? [[0, 'abha.link_care_context', failed] satisfies Step] : []),
      [5, 'abha.link_care_context', { status: 'LINKED', error: null, retry_count: 1 }],
    ];
  },

  // A booking through a network for health services: confirmed, then kept or cancelled.
  (random, clock) => {
    const slot = { start: Math.floor(clock() / 1000) + random.between(1, 72) * 3_600 };
    const [event, state] = random.chance(0.3) ? ['cancel', 'CANCELLED'] : ['status', 'COMPLETED'];
    return [
      [0, 'booking.init', { state: 'INITIATED', slot }],
      [2, 'booking.confirm', { state: 'CONFIRMED' }],
      [120, `booking.${event}`, { state }],
    ];
  },
];

/** A record of a family of one's own: its events, as the family lists them. */
const scenarioOf =
  (family: Family): RareScenario =>
  (random) =>
    callbackEvents(family)
      .filter((event) => family.events[event] !== 'deleted' || random.chance(0.1))
      .map((event, index) => {
        const amounts = Object.entries(family.fields).filter(([, { kind }]) => kind === 'amount');
        const changes = amounts.map(([name]) => [name, inRupees(random.between(5_000, 500_000))]);
        return [index === 0 ? 0 : 30, event, Object.fromEntries(changes)];
      });

export function startScenario(random: Random, beginning: Beginning, options: VisitOptions): Scenario {
  const emit = createEmit(random, beginning, options);
  const { at, startsAt, practice, doctor } = beginning;
  if (startsAt !== undefined) {
    const number = () => `${doctor.clinic.prefix}-${practice.nextReceipt++}`;
    return visit({ random, emit, startsAt, number, lead: (startsAt - at) / minute, clock: options.clock });
  }
  const names: string[] = documented.map(({ name }) => name);
  const own = options.families.filter(({ name }) => !names.includes(name)).map(scenarioOf);
  return play(random.pick([...rareScenarios, ...own])(random, options.clock), emit);
}

function* play(steps: readonly Step[], emit: Emit): Scenario {
  for (const [minutes, event, changes] of steps) {
    yield minutes;
    yield emit(event, changes);
  }
}

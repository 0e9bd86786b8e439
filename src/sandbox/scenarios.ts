import { callbackEvents, type Family } from '../callbacks/families/family.ts';
import { hexId, type Random } from './random.ts';
import { type Beginning, minute, timeAfterDays } from './schedule.ts';
import { createEmit, type Emit, type ScenarioEvent, type VisitOptions } from './visit.ts';

/** What happens at a clinic: events, and minutes that pass; undefined: an event that is not wanted. */
export type Scenario = Generator<ScenarioEvent | number | undefined, void>;

const inRupees = (paise: number) => paise / 100;

interface Visit {
  random: Random;
  emit: Emit;
  /** Minutes from the booking to the appointment. */
  lead: number;
  startsAt: number;
  clock: () => number;
  /** The number of its receipt. */
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

const familiesOfVisits = [
  'appointment',
  'consent_form',
  'prescription',
  'receipt',
  'review_request',
  'payment_request',
];

/** A record of each of these families: its events, as the family lists them. */
function* recordsOf(families: readonly Family[], random: Random, emit: Emit): Scenario {
  for (const family of families)
    for (const event of callbackEvents(family)) {
      if (family.events[event] === 'deleted' && !random.chance(0.1)) continue;
      yield emit(event);
      yield 30;
    }
}

/** The families without visits; those of admissions belong together. */
function groupsOf(families: readonly Family[]): Family[][] {
  const others = families.filter(({ name }) => !familiesOfVisits.includes(name));
  const isOfAdmission = ({ name }: Family) => name.startsWith('admission');
  const groups = others.filter((family) => !isOfAdmission(family)).map((family) => [family]);
  const admissions = others.filter(isOfAdmission);
  return admissions.length > 0 ? [...groups, admissions] : groups;
}

export function startScenario(random: Random, beginning: Beginning, options: VisitOptions): Scenario {
  const emit = createEmit(random, beginning, options);
  const { at, startsAt, practice, doctor } = beginning;
  if (startsAt !== undefined) {
    const number = () => `${doctor.clinic.prefix}-${practice.nextReceipt++}`;
    return visit({ random, emit, startsAt, number, lead: (startsAt - at) / minute, clock: options.clock });
  }
  const groups = groupsOf(options.families);
  return recordsOf(groups.length > 0 ? random.pick(groups) : [], random, emit);
}

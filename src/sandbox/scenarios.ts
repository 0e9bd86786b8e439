import { callbackEvents, type Family } from '../callbacks/families/family.ts';
import { hexId, type Random } from './random.ts';
import { type Beginning, minute, timeAfterDays } from './schedule.ts';
import type { Fields } from './visit.ts';

/** An event, in milliseconds since 1970. */
interface Step {
  at: number;
  event: string;
  changes?: Fields | undefined;
}

interface Plan {
  random: Random;
  now: number;
  steps: Step[];
}

const wait = (plan: Plan, minutes: number) => {
  plan.now += minutes * minute;
};

const happen = ({ now, steps }: Plan, event: string, changes?: Fields) =>
  void steps.push({ at: now, event, changes });

const inRupees = (paise: number) => paise / 100;

function visit(plan: Plan, startsAt: number) {
  const { random } = plan;
  const status = (value: string) => happen(plan, 'appointment.statuschange', { status: value });
  const waitUntil = (minutesBefore: number) => {
    plan.now = Math.max(plan.now, startsAt - minutesBefore * minute);
  };
  happen(plan, 'appointment.created', { start_time: startsAt / 1000 });
  wait(plan, 2);
  if (random.chance(0.1)) happen(plan, 'appointment.updated', { action: 'updated' });
  waitUntil(random.between(60, 120));
  if (random.chance(0.08)) return status(random.pick(['CN', 'CND', 'CNS']));
  waitUntil(random.between(-40, 80) / 10);
  if (random.chance(0.07)) {
    wait(plan, 30);
    return status('NS');
  }
  status('CK');
  wait(plan, random.between(1, 6));
  if (random.chance(0.1))
    happen(plan, 'appointment.assessments.taken', { workflow_data: { 'sa-1': 'result-1' } });
  status('OG');
  wait(plan, random.between(5, 15));
  if (random.chance(0.15)) consentForm(plan);
  const hasPrescription = random.chance(0.7);
  if (hasPrescription) prescription(plan);
  status(hasPrescription ? 'CM' : 'CMNP');
  wait(plan, random.between(1, 4));
  const bill = newBill(random);
  issue(plan, bill);
  if (random.chance(0.3)) {
    wait(plan, 60);
    happen(plan, random.chance(0.1) ? 'google_review.request_manual' : 'google_review.request');
  }
  settle(plan, bill);
}

function consentForm(plan: Plan): void {
  const { random } = plan;
  happen(plan, 'mcert.created');
  wait(plan, 1);
  const url = `https://files.invalid/${hexId(random)}`;
  if (random.chance(0.4)) happen(plan, 'mcert.updated', { url: `${url}.pdf`, sendurlpdf: `${url}-send.pdf` });
}

function prescription(plan: Plan): void {
  happen(plan, 'prescription.created', { current_version: 'v1', previous_version: '' });
  wait(plan, 2);
  const updated = { action: 'updated', current_version: 'v2', previous_version: 'v1' };
  if (plan.random.chance(0.1)) happen(plan, 'prescription.updated', updated);
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
function issue(plan: Plan, bill: Bill): void {
  const { random } = plan;
  happen(plan, 'receipt.created', {
    receipt_amount: inRupees(bill.amount),
    ...amountsOf(bill),
    payment_id: null,
    payment_link: null,
    remarks: random.pick(['', '', '', 'Paid at the desk', 'अगली बार शेष']),
  });
  if (!random.chance(0.05)) return;
  wait(plan, 3);
  happen(plan, 'receipt.updated', { remarks: `Corrected ${random.between(1, 99)}` });
}

/** What becomes of a receipt: dues are requested and paid, some money goes back, and some receipts are deleted. */
function settle(plan: Plan, bill: Bill) {
  const { random } = plan;
  const waitDays = (maxDays: number) => {
    plan.now = timeAfterDays(random, plan.now, random.between(1, maxDays));
  };
  if (random.chance(0.04)) {
    waitDays(1);
    return happen(plan, 'receipt.deleted', { archive: 1 });
  }
  if (dueOf(bill) === 0 && random.chance(0.03)) {
    waitDays(5);
    const refund = Math.min(bill.paid, random.between(2, 6) * 5_000);
    bill.discount += refund;
    bill.paid -= refund;
    return happen(plan, 'receipt.updated', amountsOf(bill));
  }
  if (dueOf(bill) > 0 && random.chance(0.3))
    happen(plan, 'receipt_payment.requested', { net_amount: inRupees(dueOf(bill)) });
  while (dueOf(bill) > 0 && random.chance(0.7)) {
    waitDays(20);
    bill.paid += random.chance(0.8) ? dueOf(bill) : Math.ceil(dueOf(bill) / 2);
    const reference = hexId(random);
    const { amount_paid, amount_due } = amountsOf(bill);
    const payment = { payment_id: `pay_${reference}`, payment_link: `https://pay.invalid/${reference}` };
    happen(plan, 'receipt.updated', { ...payment, amount_paid, amount_due });
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

function recordsOf(plan: Plan, families: readonly Family[]): void {
  for (const family of families)
    for (const event of callbackEvents(family)) {
      if (family.events[event] === 'deleted' && !plan.random.chance(0.1)) continue;
      happen(plan, event);
      wait(plan, 30);
    }
}

/** The families without visits; those of admissions belong together. */
function groupsOf(families: readonly Family[]): Family[][] {
  const others = families.filter(({ name }) => !familiesOfVisits.includes(name));
  const isOfAdmission = ({ name }: Family) => name.startsWith('admission');
  const single = others.filter((family) => !isOfAdmission(family)).map((family) => [family]);
  return [...single, others.filter(isOfAdmission)].filter((group) => group.length > 0);
}

export function stepsOf(random: Random, { at, startsAt }: Beginning, families: readonly Family[]): Step[] {
  const plan: Plan = { random, now: at, steps: [] };
  const groups = groupsOf(families);
  if (startsAt !== undefined) visit(plan, startsAt);
  else if (groups.length > 0) recordsOf(plan, random.pick(groups));
  return plan.steps;
}

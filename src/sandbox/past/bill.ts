import type { Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import { paymentRequest, receiptScenario } from '../scenarios/receipt.ts';
import { inRupees } from '../scenarios/scenario.ts';
import { dayOf, deskTime, lastOpenDay, minutes, openDay } from './calendar.ts';
import type { Practice } from './practices.ts';
import type { TimedEvent } from './timed-event.ts';

export interface Bill {
  readonly practice: Practice;
  readonly branch: Practice['clinics'][number];
  readonly visit: Visit;
  /** When the receipt is written, milliseconds since 1970. */
  readonly at: number;
  /** In rupees. */
  readonly amount: number;
  /** A receipt that belongs to no appointment, such as one of a monthly plan. */
  readonly isPlan?: boolean;
}

/** Amounts in paise. Paid and due add up to the net amount, and that with the discounts to the whole. */
interface Amounts {
  gross: number;
  item: number;
  discount: number;
  paid: number;
}

/**
 * A receipt from its creation: most are paid at the desk, others later, many of these at the end of the month, and some
 * never. A few are refunded. Now and then the desk writes one twice.
 */
export function billEvents(random: Random, bill: Bill): TimedEvent[] {
  const events = receiptEvents(random, bill);
  if (!random.chance(0.004)) return events;
  const again = receiptEvents(random, { ...bill, at: bill.at + minutes(random, 1, 4) });
  return [...events, ...again];
}

function receiptEvents(
  random: Random,
  { practice, branch, visit, at, amount, isPlan = false }: Bill,
): TimedEvent[] {
  const gross = amount * 100;
  const item = random.chance(0.05) ? 5_000 : 0;
  const discount = random.chance(0.1) ? Math.round(gross / 10_000) * 1_000 : 0;
  const net = gross - item - discount;
  const paidAtOnce = isPlan ? random.chance(0.5) : random.chance(0.86);
  const inPart = !paidAtOnce && net >= 40_000 && random.chance(0.4);
  const amounts: Amounts = {
    gross,
    item,
    discount,
    paid: paidAtOnce ? net : inPart ? Math.round(net / 20_000) * 10_000 : 0,
  };
  const receipt: Record<string, unknown> = {
    ...receiptScenario(random, branch.clinic, at, visit).next(at).value!.data,
    receipt_id: practice.nextReceipt++,
    receipt_number: `${branch.series}-${branch.nextPrinted++}`,
    remarks: isPlan ? 'Monthly plan' : '',
    ...(isPlan && { aid: '' }),
    ...amountsOf(amounts),
  };
  const events: TimedEvent[] = [];
  const add = (event: string, at: number, changes: object): void => {
    Object.assign(receipt, changes, amountsOf(amounts));
    events.push({ event, at, data: { ...receipt } });
  };
  add('receipt.created', at, {});

  const due = net - amounts.paid;
  if (due > 0 && !isPlan && random.chance(0.5))
    events.push({ ...paymentRequest(random, visit, due), at: at + minutes(random, 2, 20) });
  const day = dayOf(at);
  if (due > 0 && random.chance(0.85)) {
    const settledAt = later(random, random.chance(0.6) ? lastOpenDay(day) : day + random.between(1, 75), at);
    amounts.paid = net;
    const reference = random.text(12, 'ABCDEFGHJKMNPQRSTUVWXYZ23456789');
    const online = { payment_id: `pay_${reference}`, payment_link: `https://pay.example/${reference}` };
    add('receipt.updated', settledAt, { updated_at: settledAt, ref_trx_id: `trx_${reference}`, ...online });
  } else if (due === 0 && random.chance(0.015)) {
    const refundedAt = later(random, day + random.between(0, 3), at);
    const part = Math.floor(net / 30_000) * 10_000;
    if (part === 0 || random.chance(0.4)) {
      add('receipt.deleted', refundedAt, { updated_at: refundedAt, archive: 1, remarks: 'Refunded' });
    } else {
      amounts.gross -= part;
      amounts.paid -= part;
      add('receipt.updated', refundedAt, { updated_at: refundedAt, remarks: `Refund of ₹${inRupees(part)}` });
    }
  }
  return events;
}

function amountsOf({ gross, item, discount, paid }: Amounts) {
  const net = gross - item - discount;
  return {
    receipt_amount: inRupees(gross),
    sku_discount_amount: inRupees(item),
    additional_discount_value: inRupees(discount),
    additional_discount_amount: inRupees(discount),
    net_amount: inRupees(net),
    amount_paid: inRupees(paid),
    amount_due: inRupees(net - paid),
  };
}

/** A moment of an open day, after another moment. */
function later(random: Random, day: number, than: number): number {
  const at = deskTime(random, openDay(day));
  return at > than ? at : than + minutes(random, 5, 30);
}

import { type Callback, eventTimeMs } from '../../src/sandbox/history.ts';
import { past, pastAliases } from '../../src/sandbox/past/past.ts';

const day = 86_400_000;
const inIndia = 5.5 * 3_600_000;
// A Wednesday, at noon in India.
const until = Date.UTC(2026, 5, 17, 6, 30);
const duration = 200 * day;
const options = { seed: 1, start: until - 12 * 3_600_000 - duration, duration, until };

const all = [...past(options)];
const of = (event: string) => all.filter((callback) => callback.event === event);
const dataOf = (event: string) => of(event).map(({ envelope }) => envelope.data);
const timeOf = ({ envelope }: Callback) => eventTimeMs(envelope);
const dateOf = (time: number) => new Date(time + inIndia);
const created = of('receipt.created');
const names = new Map(
  pastAliases(options.seed)
    .split('\n')
    .map((line) => [line.split(',')[1], line.split(',')[2]]),
);
/** The newest version of each receipt. */
const receipts = new Map<string, Record<string, unknown>>(
  all
    .filter(({ family }) => family === 'receipt')
    .map(({ event, businessId, envelope: { data } }) => [
      `${businessId} ${data.receipt_id}`,
      { event, ...data },
    ]),
);

function countBy<T>(items: readonly T[], keyOf: (item: T) => unknown): Map<unknown, number> {
  const counts = new Map<unknown, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

it('is in order of time, ends at its end, and goes on from there if that is later', () => {
  const times = all.map(timeOf);
  // Whole seconds and milliseconds differ by less than a second.
  expect(times.slice(1).filter((time, index) => time <= times[index]! - 1_000)).toEqual([]);
  expect(times.at(-1)).toBeLessThanOrEqual(until);
  const short = { seed: 2, start: until - 9 * day, duration: 9 * day };
  const earlier = [...past({ ...short, until: until - 3 * day })];
  const later = [...past({ ...short, until })];
  expect(later.slice(0, earlier.length)).toEqual(earlier);
  expect(later.length).toBeGreaterThan(earlier.length);
});

it('has no visit and no receipt on a Sunday or a holiday, and most of them on Mondays', () => {
  const visits = dataOf('appointment.created').map(({ start_time }) => Number(start_time) * 1000);
  for (const times of [visits, created.map(timeOf)]) {
    const weekdays = countBy(times, (time) => dateOf(time).getUTCDay());
    const [busiest] = [...weekdays].toSorted(([, a], [, b]) => b - a);
    expect([weekdays.has(0), weekdays.size, busiest![0]]).toEqual([false, 6, 1]);
    expect(times.filter((time) => dateOf(time).toISOString().includes('-01-26'))).toEqual([]);
  }
});

it('has one business that falls silent, while the others send to the end', () => {
  const last = new Map(all.map((callback) => [callback.businessId, timeOf(callback)]));
  const daysSilent = [...last.values()].map((time) => (until - time) / day).toSorted((a, b) => a - b);
  expect(daysSilent).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
  expect(daysSilent[1]).toBeLessThan(1);
  expect(daysSilent[2]).toBeGreaterThan(20);
});

it('has amounts that add up in every version of a receipt', () => {
  const wrong = all.filter(({ family, envelope: { data } }) => {
    if (family !== 'receipt') return false;
    const paise = (name: string) => Math.round(Number(data[name]) * 100);
    const [gross, net, paid, due] = [
      paise('receipt_amount'),
      paise('net_amount'),
      paise('amount_paid'),
      paise('amount_due'),
    ] as const;
    const discounts = paise('sku_discount_amount') + paise('additional_discount_amount');
    const isPlausible = paid >= 0 && due >= 0 && gross >= 200_00 && gross < 10_000_00;
    return paid + due !== net || net + discounts !== gross || !isPlausible;
  });
  expect(wrong).toEqual([]);
});

it('has patients who return, and relatives who share a phone', () => {
  const patients = [...countBy(dataOf('receipt.created'), ({ patient_oid }) => patient_oid).values()];
  const returning = patients.filter((visits) => visits > 1).length / patients.length;
  expect(returning).toBeGreaterThan(0.25);
  expect(returning).toBeLessThan(0.75);
  const phones = new Map(dataOf('receipt.created').map(({ patient_oid, mobile }) => [patient_oid, mobile]));
  expect(new Set(phones.values()).size).toBeLessThan(phones.size);
});

it('has a doctor whose patients leave, and one to whom more come', () => {
  const monthOf = (from: number, to: number) =>
    countBy(
      created.filter(
        (callback) => timeOf(callback) >= until - from * day && timeOf(callback) < until - to * day,
      ),
      ({ envelope }) => names.get(String(envelope.data.doctor_oid)),
    );
  const [before, now] = [monthOf(110, 80), monthOf(30, 0)];
  const share = (name: string) => now.get(name)! / before.get(name)!;
  expect(share('Dr. Menon')).toBeLessThan(0.5);
  expect(share('Dr. Joseph')).toBeGreaterThan(0.7);
  expect(share('Dr. Thomas')).toBeGreaterThan(1.3);
});

it('leaves dues, of which some are paid at the end of the month and some grow old', () => {
  const dues = [...receipts.values()].filter(({ amount_due, archive }) => Number(amount_due) > 0 && !archive);
  const ages = dues.map(({ created_at }) => (until - Number(created_at)) / day);
  expect(ages.filter((age) => age > 90).length).toBeGreaterThan(3);
  expect(ages.filter((age) => age <= 30).length).toBeGreaterThan(10);
  const settled = dataOf('receipt.updated').filter(({ payment_id }) => payment_id !== null);
  const lastDays = settled.filter(({ updated_at }) => dateOf(Number(updated_at)).getUTCDate() > 27);
  expect(lastDays.length).toBeGreaterThan(settled.length / 4);
  expect(lastDays.length).toBeLessThan(settled.length);
});

it('has a few refunds, deleted receipts, and receipts that were written twice', () => {
  expect(dataOf('receipt.updated').some(({ remarks }) => /^Refund of ₹\d+$/.test(String(remarks)))).toBe(
    true,
  );
  expect(dataOf('receipt.deleted').length).toBeGreaterThan(3);
  const twice = countBy(created, ({ envelope: { data } }) => {
    const date = dateOf(Number(data.created_at)).toISOString().slice(0, 10);
    return `${data.patient_oid} ${data.receipt_amount} ${date}`;
  });
  const repeated = [...twice.values()].filter((count) => count > 1).length;
  expect(repeated).toBeGreaterThan(3);
  expect(repeated).toBeLessThan(created.length / 50);
});

it('has appointments with every end, and some of the days to come with their times', () => {
  const states = countBy(dataOf('appointment.statuschange'), ({ status }) => status);
  for (const status of ['CM', 'CMNP', 'NS', 'CN', 'CNS', 'CND', 'RES', 'AB'])
    expect(states.get(status)).toBeGreaterThan(3);
  expect(states.get('CM')).toBeGreaterThan(states.get('NS')! * 5);
  const tomorrow = dateOf(until + day)
    .toISOString()
    .slice(0, 10);
  const booked = dataOf('appointment.created').filter(
    ({ start_time }) =>
      dateOf(Number(start_time) * 1000)
        .toISOString()
        .slice(0, 10) === tomorrow,
  );
  expect(booked.length).toBeGreaterThan(5);
});

it('has admissions, certificates, review requests and reminders', () => {
  for (const event of [
    'ipd_admissions.created',
    'mcert.created',
    'google_review.request',
    'appointment.reminder_instant',
  ])
    expect([event, of(event).length > 5]).toEqual([event, true]);
});

it('names every business, clinic and doctor of its seed', () => {
  const ids = new Set(
    all.flatMap(({ businessId, envelope: { data } }) =>
      [businessId, data.clinic_id, data.doctor_id, data.doctor_oid].filter((id) => id !== undefined),
    ),
  );
  expect([...ids].map((id) => names.get(String(id)))).not.toContain(undefined);
  expect(pastAliases(2)).not.toBe(pastAliases(1));
});

import { callbackSchema } from '../../src/callbacks/callback.ts';
import { callbackEvents } from '../../src/callbacks/families/family.ts';
import { receipt } from '../../src/callbacks/families/receipt.ts';
import { callbacks, defaultStart, families, history } from '../../src/sandbox/history.ts';

const take = (count: number, options: Partial<Parameters<typeof callbacks>[0]> = {}) => [
  ...callbacks({ seed: 1, families, count, ...options }),
];
const timeOf = ({ event_time: time }: { event_time: number }) => (time > 1e11 ? time : time * 1000);

it('every documented event happens, with data that fits its family', () => {
  const sent = take(8_000);
  expect(new Set(sent.map(({ event }) => event))).toEqual(new Set(families.flatMap(callbackEvents)));
  const schema = callbackSchema(families);
  const unfit = sent.filter(({ envelope }) => !schema.safeParse(envelope).success);
  expect(unfit).toEqual([]);
});

it('no two callbacks have the same content, and the same seed has the same ones', () => {
  const contentOf = ({ envelope: { timestamp, ...content } }: { envelope: { timestamp: number } }) =>
    JSON.stringify(content);
  expect(new Set(take(5_000).map(contentOf)).size).toBe(5_000);
  expect(take(100)).toEqual(take(100));
  const businesses = (seed: number) => take(50, { seed }).map(({ envelope }) => envelope.business_id);
  expect(businesses(2)).not.toEqual(expect.arrayContaining(businesses(3)));
});

it('events happen in order from the start on, and in the present once it is reached', () => {
  const times = take(500).map(({ envelope }) => timeOf(envelope));
  expect(times[0]).toBe(defaultStart);
  expect(Math.max(...times.map((time, index) => (times[index - 1] ?? 0) - time))).toBeLessThan(1_000);
  const start = Date.now() - 5_000;
  const now = take(500, { start, present: Date.now }).map(({ envelope }) => timeOf(envelope));
  expect(now.at(-1)).toBeLessThan(Date.now() + 2_500);
});

it('a week of a clinic ends in the present, and has mornings, evenings and some thousand events', () => {
  const end = Date.now();
  const week = [
    ...history({ seed: 1, families, start: end - 7 * 86_400_000, end, isReal: true, businessIds: ['b'] }),
  ];
  expect(week.length).toBeGreaterThan(1_000);
  expect(week.length).toBeLessThan(5_000);
  expect(Math.max(...week.map(({ envelope }) => timeOf(envelope)))).toBeLessThanOrEqual(end + 1_000);
  const booked = week.filter(({ event }) => event === 'appointment.created');
  const hours = booked.map(({ envelope }) => new Date(timeOf(envelope) + 5.5 * 3_600_000).getUTCHours());
  expect([Math.min(...hours), Math.max(...hours)]).toEqual([9, 19]);
});

it('amounts of a receipt agree, and its versions have later times', () => {
  const last = new Map<unknown, number>();
  for (const { envelope } of take(2_000, { families: [receipt] })) {
    const {
      receipt_id,
      receipt_amount,
      additional_discount_amount,
      net_amount,
      amount_paid,
      amount_due,
      updated_at,
    } = envelope.data as Record<string, number>;
    expect(net_amount).toBeCloseTo(receipt_amount! - additional_discount_amount!, 6);
    expect(amount_due).toBeCloseTo(net_amount! - amount_paid!, 6);
    const key = `${envelope.business_id} ${receipt_id}`;
    expect(updated_at!).toBeGreaterThan(last.get(key) ?? 0);
    last.set(key, updated_at!);
  }
});

it('duplicates have the bytes of a callback before, or another timestamp', () => {
  const sent = take(2_000, { duplicates: 0.2 });
  const duplicates = sent.filter(({ duplicate }) => duplicate);
  expect(duplicates.length).toBeGreaterThan(300);
  expect(new Set(duplicates.map(({ duplicate }) => duplicate))).toEqual(
    new Set(['same bytes', 'new timestamp']),
  );
  for (const copy of duplicates) {
    const original = sent.find(({ number, duplicate }) => number === copy.number && !duplicate)!;
    expect(copy.body === original.body).toBe(copy.duplicate === 'same bytes');
    expect({ ...copy.envelope, timestamp: 0 }).toEqual({ ...original.envelope, timestamp: 0 });
  }
});

it('a lean update has the id and what it changes, a lean deletion the id alone', () => {
  const full = take(3_000);
  const lean = take(3_000, { lean: 0.9 });
  let shorter = 0;
  for (const [index, { family, event, body, envelope }] of lean.entries()) {
    expect(full[index]!.envelope.data).toMatchObject(envelope.data);
    if (body === full[index]!.body) continue;
    shorter += 1;
    if (event.endsWith('.deleted')) expect(Object.keys(envelope.data)).toEqual([family.key]);
  }
  expect(shorter).toBeGreaterThan(500);
});

it('invalid callbacks are not JSON, or have no time; others keep their order, until they are shuffled', () => {
  const sent = take(1_000, { invalid: 0.3 });
  expect(new Set(sent.map(({ invalid }) => invalid))).toEqual(
    new Set([undefined, 'truncated', 'event_time is text']),
  );
  const shuffled = take(1_000, { shuffle: true });
  expect(shuffled).not.toEqual(take(1_000));
  expect(shuffled.toSorted((a, b) => a.number - b.number)).toEqual(take(1_000));
});

import { callbackSchema } from '../../src/callbacks/callback.ts';
import { callbackEvents } from '../../src/callbacks/families/family.ts';
import { receipt } from '../../src/callbacks/families/receipt.ts';
import { type Callback, callbacks, families, practiceOf } from '../../src/sandbox/history.ts';
import { directoryOf } from '../../src/sandbox/practice.ts';

const day = 86_400_000;
const india = 5.5 * 3_600_000;
// Saturday, 28 November 2026, 13:05 in India.
const end = Date.UTC(2026, 10, 28, 7, 35);
const take = (options: Partial<Parameters<typeof callbacks>[0]> = {}) =>
  callbacks({ seed: 1, end, families, ...options });
const timeOf = ({ event_time: time }: { event_time: number }) => (time > 1e11 ? time : time * 1000);

it('every documented event happens, with data that fits its family', () => {
  const sent = [1, 2, 3].flatMap((seed) => take({ seed }));
  expect(new Set(sent.map(({ event }) => event))).toEqual(new Set(families.flatMap(callbackEvents)));
  const schema = callbackSchema(families);
  const unfit = sent.filter(({ envelope }) => !schema.safeParse(envelope).success);
  expect(unfit).toEqual([]);
});

it('no two callbacks have the same content, and the same seed has the same ones', () => {
  const contentOf = ({ envelope: { timestamp, ...content } }: { envelope: { timestamp: number } }) =>
    JSON.stringify(content);
  const past = take();
  expect(new Set(past.map(contentOf)).size).toBe(past.length);
  expect(take({ count: 100 })).toEqual(past.slice(-100));
  const businesses = (seed: number) => take({ seed }).map(({ envelope }) => envelope.business_id);
  expect(businesses(2)).not.toEqual(expect.arrayContaining(businesses(3)));
});

it('events happen in order', () => {
  const times = take().map(({ envelope }) => timeOf(envelope));
  expect(Math.max(...times.map((time, index) => (times[index - 1] ?? 0) - time))).toBeLessThan(1_000);
});

describe('eight weeks of a business, as docs/sandbox.md describes them', () => {
  const past = take();
  const of = (event: string) => past.filter((callback) => callback.event === event);
  const data = ({ envelope }: Callback) => envelope.data as Record<string, string & number>;
  const receipts = of('receipt.created');

  it('end in the present, are closed on Sundays, and have receipts of three clinics with a rising number', () => {
    const times = past.map(({ envelope }) => timeOf(envelope));
    expect(Math.max(...times)).toBeLessThanOrEqual(end + 1_000);
    expect(times.filter((time) => time > end - 4 * 3_600_000)).not.toEqual([]);
    const days = receipts.map(({ envelope }) => new Date(timeOf(envelope) + india).getUTCDay());
    expect(days).not.toContain(0);
    const numbers = receipts.map((receipt) =>
      Number(/^(?:JA|IN|LH)-(\d{4})$/.exec(data(receipt).receipt_number!)![1]),
    );
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
    expect(new Set(receipts.map((receipt) => data(receipt).clinic_id)).size).toBe(3);
  });

  it('have appointments also for the next days, no two at once with one doctor', () => {
    const slots = of('appointment.created').map((created) => data(created));
    expect(slots.filter(({ start_time }) => start_time! * 1000 > end + day / 2).length).toBeGreaterThan(5);
    const keys = slots.map(({ doctor_id, start_time }) => `${doctor_id} ${start_time}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('have patients with one name and one phone, in five scripts', () => {
    const known = new Map(receipts.map((receipt) => [data(receipt).patient_oid, data(receipt)]));
    expect(known.size).toBeGreaterThan(50);
    for (const { patient_oid, name, mobile } of receipts.map(data))
      expect(known.get(patient_oid)).toMatchObject({ name, mobile });
    const names = [...known.values()].map(({ name }) => name!);
    for (const script of ['Latin', 'Devanagari', 'Tamil', 'Kannada', 'Gurmukhi'])
      expect(names).toContainEqual(
        expect.stringMatching(new RegExp(`^[\\p{Script=${script}}\\p{M} .]+$`, 'u')),
      );
  });

  it('have dues that are paid later, refunds, and deleted receipts', () => {
    const issued = new Map(receipts.map((receipt) => [data(receipt).receipt_id, data(receipt)]));
    const changes = of('receipt.updated').map(
      (update) => data(update).amount_paid! - issued.get(data(update).receipt_id)!.amount_paid!,
    );
    expect(changes.filter((change) => change > 0).length).toBeGreaterThan(20);
    expect(changes.filter((change) => change < 0)).not.toEqual([]);
    expect(of('receipt.deleted').length).toBeGreaterThan(3);
  });
});

it('the directory has a name for each clinic and doctor of a history, and for its business', () => {
  const names = directoryOf(practiceOf(3));
  const idsOf = (kind: string) => new Set(names.flatMap((name) => (name.kind === kind ? name.id : [])));
  expect(names.find(({ kind }) => kind === 'business')).toMatchObject({
    id: '600000000000003',
    alias: 'Sunrise Clinics',
  });
  for (const { envelope } of take({ seed: 3, families: [receipt] })) {
    expect(idsOf('clinic')).toContain(envelope.data.clinic_id);
    expect(idsOf('doctor')).toContain(envelope.data.doctor_oid);
  }
});

it('amounts of a receipt agree, and its versions have later times', () => {
  const last = new Map<unknown, number>();
  for (const { envelope } of take({ families: [receipt] })) {
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

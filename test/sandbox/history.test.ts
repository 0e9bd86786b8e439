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

describe('eight weeks of a business', () => {
  const past = take();
  const of = (event: string) => past.filter((callback) => callback.event === event);
  const data = ({ envelope }: Callback) => envelope.data as Record<string, string & number>;
  const dateOf = ({ envelope }: Callback) => new Date(timeOf(envelope) + india);
  const receipts = of('receipt.created');

  it('end in the present, the last day too, and are two to three thousand events', () => {
    expect(past.length).toBeGreaterThan(2_000);
    expect(past.length).toBeLessThan(3_000);
    expect(Math.max(...past.map(({ envelope }) => timeOf(envelope)))).toBeLessThanOrEqual(end + 1_000);
    expect(receipts.filter(({ envelope }) => timeOf(envelope) > end - 4 * 3_600_000)).not.toEqual([]);
  });

  it('have receipts in opening hours, most on Saturdays, none on Sundays, all with a rising number', () => {
    const hours = receipts.map((receipt) => dateOf(receipt).getUTCHours());
    expect([Math.min(...hours), Math.max(...hours)]).toEqual([9, 19]);
    const counts = Array(7).fill(0);
    for (const receipt of receipts) counts[dateOf(receipt).getUTCDay()] += 1;
    const [sunday, monday, ...others] = counts;
    expect(sunday).toBe(0);
    expect(Math.max(...others)).toBe(others.at(-1));
    expect(others.at(-1)).toBeGreaterThan(monday);
    const numbers = receipts.map((receipt) => data(receipt).receipt_number!);
    const rising = numbers.map((number) => Number(/^(?:JA|IN|LH)-(\d{4})$/.exec(number)![1]));
    expect(rising).toEqual(rising.map((_, index) => rising[0]! + index));
    const clinics = new Set(receipts.map((receipt) => `${data(receipt).clinic_id}`));
    expect(clinics.size).toBe(3);
  });

  it('have appointments with a start in opening hours, each of another patient or doctor, and for the next days', () => {
    const slots = of('appointment.created').map((created) => {
      const { doctor_id, start_time } = data(created);
      const starts = new Date(start_time! * 1000 + india);
      expect(starts.getUTCMinutes() % 15).toBe(0);
      expect(starts.getUTCHours() + starts.getUTCMinutes() / 60).toBeGreaterThanOrEqual(9);
      expect(starts.getUTCHours() + starts.getUTCMinutes() / 60).toBeLessThanOrEqual(19);
      return `${doctor_id} ${start_time}`;
    });
    expect(new Set(slots).size).toBe(slots.length);
    const times = of('appointment.created').map((created) => data(created).start_time! * 1000);
    expect(times.filter((time) => time > end + day / 2).length).toBeGreaterThan(5);
    const last = new Map(
      past
        .filter(({ family }) => family.name === 'appointment')
        .map((callback) => [data(callback).appointment_id, data(callback).status!]),
    );
    const share = (...statuses: string[]) =>
      [...last.values()].filter((status) => statuses.includes(status)).length / last.size;
    expect(share('CM', 'CMNP')).toBeGreaterThan(0.7);
    expect(share('CN', 'CND', 'CNS')).toBeGreaterThan(0.02);
    expect(share('NS')).toBeGreaterThan(0.02);
  });

  it('have patients with one name in one script, and one phone', () => {
    const people = new Map<unknown, Set<string>>();
    for (const receipt of receipts) {
      const { patient_oid, name, mobile } = data(receipt);
      people.set(patient_oid, (people.get(patient_oid) ?? new Set()).add(`${name} ${mobile}`));
    }
    expect(people.size).toBeGreaterThan(50);
    const names = [...people.values()].map((known) => [...known]);
    expect(names.filter(({ length }) => length > 1)).toEqual([]);
    const scripts = ['Latin', 'Devanagari', 'Tamil', 'Kannada', 'Gurmukhi'];
    const scriptsOf = ([name]: string[]) =>
      scripts.filter((script) => new RegExp(`\\p{Script=${script}}`, 'u').test(name!));
    expect(names.filter((name) => scriptsOf(name).length !== 1)).toEqual([]);
    expect(new Set(names.flatMap(scriptsOf))).toEqual(new Set(scripts));
  });

  it('have dues that are paid days later, refunds, and deleted receipts', () => {
    const issued = new Map(receipts.map((receipt) => [data(receipt).receipt_id, receipt]));
    const paid = (callback: Callback) => data(callback).amount_paid!;
    const later = of('receipt.updated').filter(
      (update) => dateOf(update).getTime() - dateOf(issued.get(data(update).receipt_id)!).getTime() > day / 2,
    );
    const grown = later.filter((update) => paid(update) > paid(issued.get(data(update).receipt_id)!));
    expect(grown.length).toBeGreaterThan(20);
    expect(later.filter((update) => paid(update) < paid(issued.get(data(update).receipt_id)!))).not.toEqual(
      [],
    );
    expect(later.filter((update) => dateOf(update).getUTCDay() === 0)).toEqual([]);
    for (const event of [
      'receipt.deleted',
      'receipt_payment.requested',
      'mcert.created',
      'google_review.request',
    ])
      expect(of(event).length).toBeGreaterThan(3);
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

import fc from 'fast-check';
import { families } from '../../src/sandbox/families.ts';
import { seededRandom } from '../../src/sandbox/random.ts';
import { spellAsPlatform } from '../../src/sandbox/spelling.ts';
import { callbacks } from '../../src/sandbox/variations.ts';

type Fields = Record<string, unknown>;

const sent = (spelling: 'platform' | 'mixed', count = 15_000) =>
  [...callbacks({ seed: 5, count, families, spelling })].map((callback) => ({
    ...callback,
    body: JSON.parse(callback.body) as Fields & { data: Fields },
  }));
const platform = sent('platform');
const bodiesOf = (event: string) => platform.filter((c) => c.event === event).map((c) => c.body);

const timeFields = [
  'created_at',
  'modified_at',
  'updated_at',
  'completed_at',
  'at',
  'date',
  'admission_date',
];
const isoZ = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const withOffset = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00$/;

/** A time in milliseconds, in any of its spellings. */
function readTime(time: unknown): number {
  if (typeof time === 'number') return time > 1e11 ? time : time * 1000;
  expect(time).toMatch(new RegExp(`${isoZ.source}|${withOffset.source}`));
  return Date.parse(time as string);
}

/** What a callback says, whatever its spelling; what only one spelling has is left out. */
function meaningOf({ event, event_type = event, event_time, business_id, partition_id, data }: Fields) {
  const { rx_id, business_receipt_number: _, receipt_id, ...rest } = data as Fields;
  const read = Object.entries(rest).map(([name, value]) => [
    name,
    timeFields.includes(name) ? readTime(value) : value,
  ]);
  return {
    event: event_type,
    event_time: readTime(event_time),
    business_id: business_id ?? partition_id,
    data: {
      ...(rx_id !== undefined && { prescription_id: rx_id }),
      ...(receipt_id !== undefined && { receipt_id: Number(receipt_id) }),
      ...Object.fromEntries(read),
    },
  };
}

it('changes nothing of what a callback says', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      for (const { envelope } of callbacks({ seed, count: 300, families })) {
        const spelled = spellAsPlatform(envelope, seededRandom(seed));
        expect(meaningOf(spelled)).toEqual(meaningOf({ ...envelope }));
        expect([envelope.client_id, '', undefined]).toContain(spelled.client_id);
        if (envelope.transaction_id) expect(spelled.transaction_id).toBe(envelope.transaction_id);
      }
    }),
    { numRuns: 20 },
  );
});

it('is of every callback, of none, or of about half of them', () => {
  const share = (bodies: { body: Fields }[]) =>
    bodies.filter(({ body }) => 'event_type' in body).length / bodies.length;
  expect(share(platform)).toBe(1);
  expect(share(sent('mixed', 2_000))).toBeCloseTo(0.5, 1);
  const contract = [...callbacks({ seed: 5, count: 500, families })];
  expect(contract.map((c) => c.body)).toEqual(contract.map((c) => JSON.stringify(c.envelope)));
});

it('replaces event by event_type', () => {
  expect(platform.filter(({ body }) => 'event' in body)).toEqual([]);
});

it.each(['appointment.statuschange', 'appointment.assessments.taken', 'receipt_payment.requested'])(
  'has no client in %s: an empty one, or none',
  (event) => {
    expect(new Set(bodiesOf(event).map((body) => body.client_id))).toEqual(new Set(['', undefined]));
  },
);

it('names the business of a vaccination reminder in partition_id only', () => {
  for (const { body, envelope } of platform.filter((c) => c.event === 'vaccination.reminder')) {
    expect(body).not.toHaveProperty('business_id');
    expect(body.partition_id).toBe(envelope.business_id);
  }
});

it('has timestamps that are missing, 0, a number and ISO 8601', () => {
  const kinds = platform.map(({ body: { timestamp } }) =>
    typeof timestamp === 'string' ? isoZ.test(timestamp) : timestamp && typeof timestamp,
  );
  expect(new Set(kinds)).toEqual(new Set([undefined, 0, 'number', true]));
  expect(bodiesOf('appointment.reminder_instant').filter((body) => 'timestamp' in body)).toEqual([]);
});

it('has event times in seconds and in milliseconds', () => {
  const inMilliseconds = (event: string) =>
    bodiesOf(event).every(({ event_time }) => (event_time as number) > 1e11);
  expect(inMilliseconds('appointment.reminder_instant')).toBe(true);
  expect(inMilliseconds('prescription.communication')).toBe(true);
  expect(inMilliseconds('receipt.created')).toBe(false);
});

it.each([
  ['appointment.created', 'modified_at'],
  ['prescription.updated', 'created_at'],
  ['schedule.stop_practice', 'modified_at'],
])('spells times of %s in seconds, in milliseconds and in both kinds of ISO 8601', (event, field) => {
  const times = bodiesOf(event).map(({ data }) => data[field]);
  expect(times.some((time) => typeof time === 'number' && time < 1e11)).toBe(true);
  expect(times.some((time) => typeof time === 'number' && time > 1e11)).toBe(true);
  expect(times.some((time) => isoZ.test(String(time)))).toBe(true);
  expect(times.some((time) => withOffset.test(String(time)))).toBe(true);
});

it('writes ids of receipts in quotes, beside the number of the business', () => {
  for (const { data } of bodiesOf('receipt.updated')) {
    expect(data).toMatchObject({
      receipt_id: expect.stringMatching(/^\d+$/),
      business_receipt_number: expect.any(String),
    });
  }
});

it('calls the id of a prescription rx_id', () => {
  for (const { data } of bodiesOf('prescription.created')) {
    expect(data).toHaveProperty('rx_id');
    expect(data).not.toHaveProperty('prescription_id');
  }
});

it('has service, transaction_id and partition_id beside the data, but not in the oldest events', () => {
  const more = {
    service: 'appointment',
    transaction_id: expect.any(String),
    partition_id: expect.any(String),
  };
  for (const body of bodiesOf('appointment.statuschange')) {
    expect(body).toMatchObject({ ...more, transaction_id: body.data.appointment_id });
  }
  for (const body of [...bodiesOf('receipt.created'), ...bodiesOf('appointment.created')]) {
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['service']));
  }
});

it('is kept by a duplicate, byte for byte or with another timestamp', () => {
  const originals = new Map<number, string>();
  for (const callback of callbacks({ seed: 2, count: 1_000, families, spelling: 'mixed', duplicates: 0.3 })) {
    const { timestamp: _, ...content } = JSON.parse(callback.body);
    const before = originals.get(callback.number);
    expect(callback.duplicate !== undefined).toBe(before !== undefined);
    if (before === undefined) originals.set(callback.number, JSON.stringify(content));
    else expect(JSON.stringify(content)).toBe(before);
  }
});

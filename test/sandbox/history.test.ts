import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { type Callback, defaultStart, eventTimeMs, history } from '../../src/sandbox/history.ts';
import { callbacks } from '../../src/sandbox/variations.ts';

const take = (count: number, options: Parameters<typeof callbacks>[0]): Callback[] => [
  ...callbacks({ ...options, count }),
];
const content = ({ envelope: { timestamp: _, ...rest } }: Callback) => JSON.stringify(rest);
const seed = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

it('is the same for the same options', () => {
  fc.assert(
    fc.property(seed, fc.boolean(), (seed, shuffle) => {
      const options = { seed, shuffle, duplicates: 0.1, invalid: 0.1 };
      expect(take(100, options)).toEqual(take(100, options));
    }),
    { numRuns: 10 },
  );
});

it('has no two callbacks with the same content, even without their timestamp', () => {
  fc.assert(
    fc.property(seed, fc.boolean(), (seed, shuffle) => {
      const sequence = take(1_500, { seed, shuffle });
      expect(new Set(sequence.map(content)).size).toBe(1_500);
      expect(new Set(sequence.map((c) => c.body)).size).toBe(1_500);
    }),
    { numRuns: 10 },
  );
});

it('shares no business with the history of another seed', () => {
  fc.assert(
    fc.property(seed, (seed) => {
      const businesses = (s: number) => new Set(take(50, { seed: s }).map((c) => c.businessId));
      const [ours, others] = [businesses(seed), businesses((seed + 1) | 0)];
      expect([...ours].filter((id) => others.has(id))).toEqual([]);
    }),
    { numRuns: 10 },
  );
});

it('is for the given businesses and client', () => {
  const sequence = take(200, { seed: 1, clientId: 'client', businessIds: ['one', 'two'] });
  expect(new Set(sequence.map((c) => c.envelope.business_id))).toEqual(new Set(['one', 'two']));
  expect(new Set(sequence.map((c) => c.envelope.client_id))).toEqual(new Set(['client']));
});

it('is in order of time from its start, in opening hours only', () => {
  const start = Date.UTC(2025, 5, 1, 22);
  const times = take(3_000, { seed: 3, start }).map(({ envelope, family }) =>
    family === 'review_request' ? envelope.event_time : envelope.event_time * 1000,
  );
  expect(times[0]).toBeGreaterThanOrEqual(start);
  // Whole seconds and milliseconds differ by less than a second.
  times.slice(1).forEach((time, i) => {
    expect(time).toBeGreaterThan(times[i]! - 1_000);
  });
  const minuteInIndia = (time: number) => (Math.floor(time / 60_000) + 330) % (24 * 60);
  times.forEach((time) => {
    expect(minuteInIndia(time)).toBeGreaterThanOrEqual(9 * 60);
    expect(minuteInIndia(time)).toBeLessThan(20 * 60);
  });
});

// Benchmarks and long runs compare their figures with earlier ones.
it('is the same as in earlier versions unless families are given', () => {
  const hash = createHash('sha256');
  for (const { number, family, event, businessId, body } of take(1_000, { seed: 1 })) {
    hash.update(`${number} ${family} ${event} ${businessId} ${body}\n`);
  }
  expect(hash.digest('hex')).toBe('a38e3ae3a0b43e53aa5cf29d247476aea6c42bef08660be1e49c228c5fdd0ce7');
});

describe('every callback of a clinic', () => {
  const sequence = take(4_000, { seed: 7 });
  const of = (event: string) => sequence.filter((c) => c.event === event);

  it('has the whole envelope of section 2.1', () => {
    for (const { body, envelope } of sequence) {
      expect(JSON.parse(body)).toEqual(envelope);
      expect(Object.keys(envelope)).toEqual([
        'event',
        'event_time',
        'timestamp',
        'client_id',
        'business_id',
        'data',
      ]);
    }
  });

  it.each([
    ['receipt.created', 'receipt'],
    ['receipt.updated', 'receipt'],
    ['receipt.deleted', 'receipt'],
    ['mcert.created', 'consent_form'],
    ['mcert.updated', 'consent_form'],
    ['google_review.request', 'review_request'],
  ])('%s occurs, in its family', (event, family) => {
    expect(of(event).length).toBeGreaterThan(20);
    expect(new Set(of(event).map((c) => c.family))).toEqual(new Set([family]));
  });

  it('has every field of a receipt (section 2.2), with its type', () => {
    const url = expect.stringMatching(/^https:\/\/storage\.example\/.+\.pdf$/);
    for (const { envelope } of sequence.filter((c) => c.family === 'receipt')) {
      expect(envelope.data).toMatchObject({
        receipt_id: expect.any(Number),
        aid: expect.stringMatching(/^(d|api)-[0-9a-f-]{36}$/),
        doctor_oid: expect.stringMatching(/^\d{15}$/),
        clinic_id: expect.stringMatching(/^[0-9a-f]{24}$/),
        patient_oid: expect.stringMatching(/^\d{15}$/),
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
        receipt_url: url,
        receipt_status: 'SUCCESS',
        receipt_amount: expect.any(Number),
        additional_discount_value: expect.any(Number),
        additional_discount_type: 'AMOUNT',
        additional_discount_amount: expect.any(Number),
        net_amount: expect.any(Number),
        name: expect.any(String),
        mobile: expect.stringMatching(/^\+91\d{10}$/),
        sku_discount_amount: expect.any(Number),
        amount_due: expect.any(Number),
        archive: expect.any(Number),
        remarks: expect.any(String),
        ref_trx_id: expect.any(String),
        actor: 'doctor',
      });
      for (const nullable of ['receipt_number', 'flavour', 'payment_id', 'payment_link', 'amount_paid']) {
        expect(envelope.data).toHaveProperty(nullable);
      }
    }
  });

  it('has the fields of a consent form and a review request (sections 2.3 and 2.4)', () => {
    const form = ['docid', 'id', 'owner', 'patientid', 'sendurlpdf', 'url'];
    for (const { envelope } of [...of('mcert.created'), ...of('mcert.updated')]) {
      expect(Object.keys(envelope.data)).toEqual(form);
      expect(envelope.data.owner).toBe(envelope.business_id);
    }
    const reviews = of('google_review.request').map((c) => Object.keys(c.envelope.data).length);
    expect(new Set(reviews)).toEqual(new Set([3, 5]));
  });

  it('has a consistent sequence of events for each receipt', () => {
    const scenarios = groupBy(
      sequence.filter((c) => c.family === 'receipt'),
      receiptKey,
    );
    for (const [, scenario] of scenarios) {
      expect(scenario[0]!.event).toBe('receipt.created');
      scenario.slice(1).forEach((later, i) => {
        expect(later.event).not.toBe('receipt.created');
        expect(later.envelope.data.updated_at).toBeGreaterThan(
          scenario[i]!.envelope.data.updated_at as number,
        );
      });
    }
  });

  it('has a create and its update within one second, nulls, paise and fields beyond the documented', () => {
    const receipts = sequence.filter((c) => c.family === 'receipt');
    const moments = new Set(of('receipt.created').map((c) => `${receiptKey(c)} ${c.envelope.event_time}`));
    const ties = of('receipt.updated').filter((c) =>
      moments.has(`${receiptKey(c)} ${c.envelope.event_time}`),
    );
    expect(ties.length).toBeGreaterThan(10);
    expect(receipts.some((c) => c.envelope.data.amount_paid === null)).toBe(true);
    expect(receipts.some((c) => !Number.isInteger(c.envelope.data.net_amount))).toBe(true);
    expect(receipts.some((c) => 'invoice_series' in c.envelope.data)).toBe(true);
  });
});

it('goes on in the present once it has reached it, in order, with a time of its own for each version', () => {
  const start = Date.UTC(2025, 5, 1, 6);
  let present = start + 60_000;
  const receipts: number[] = [];
  const times = take(2_000, { seed: 3, start, present: () => (present += 4) }).map(({ envelope, family }) => {
    const { updated_at } = envelope.data as { updated_at?: number };
    if (family === 'receipt' && updated_at) receipts.push(updated_at);
    const time = eventTimeMs(envelope);
    expect(time).toBeLessThanOrEqual(present);
    return time - (time % 1000);
  });
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.at(-1)).toBeGreaterThan(present - 2_000);
  expect(new Set(receipts).size).toBe(receipts.length);
});

it('starts at a fixed time by default', () => {
  const { value } = history({ seed: 1 }).next();
  expect(value.envelope.event_time * 1000).toBeGreaterThanOrEqual(defaultStart);
  expect(value.envelope.event_time * 1000).toBeLessThan(defaultStart + 60_000);
});

const receiptKey = ({ envelope }: Callback) => `${envelope.business_id} ${envelope.data.receipt_id}`;

function groupBy<T>(items: T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

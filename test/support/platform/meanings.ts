import { seededRandom } from '../../../src/sandbox/random.ts';
import type { Documented, Kind } from './documented.ts';

/** What a callback says, however it is spelled. */
export interface Meaning {
  of: Documented;
  event: string;
  /** Milliseconds, as all times here. */
  eventTime: number;
  client: string;
  business: string;
  /** Names the admission of its parts; an empty one is none. */
  transaction: string;
  /** Null: there is none. */
  values: Record<string, Value | null>;
  /** Times that say nothing, as they are sent. Their value is null. */
  odd: Record<string, unknown>;
  /** Fields that it does not mention. */
  lacks: Set<string>;
  /** Fields of `data` that are not documented. */
  extra: Record<string, unknown>;
}

export type Value = string | number | Name | object;

interface Name {
  salutation?: string | null;
  first_name?: string | null;
  last_name?: string | null;
}

export type Random = ReturnType<typeof seeded>;

export function seeded(seed: number) {
  const { between } = seededRandom(seed);
  const below = (limit: number) => between(0, limit - 1);
  return {
    below,
    chance: (percent: number) => below(100) < percent,
    pick: <T>(items: readonly T[]): T => items[below(items.length)]!,
  };
}

const start = Date.parse('2025-10-09T08:53:20Z');
const texts = [
  '',
  'BK',
  'आशा राव',
  '161467756044204',
  'https://files.invalid/1.pdf',
  `"O'Neill" \\ \n%`,
  'null',
];
const amounts = [0, 0.1, 490.05, 99_999_999_999.99, -1.5, 1e-7];
const objects = [
  {},
  [],
  ['a', 1, null],
  { id: 'u-1', name: 'Nurse' },
  { a: { b: [{ c: 1.5 }] }, d: 'é' },
  'text',
  7,
];
const names: (Name | string)[] = [
  'Dr Asha Rao',
  '',
  {},
  { salutation: 'Dr', first_name: 'Asha', last_name: 'Rao' },
  { salutation: null, first_name: 'Ravi' },
  { salutation: '', first_name: '', last_name: 'Rao' },
];
const nothings = (eventTime: number): unknown[] => [
  0,
  '',
  ' ',
  null,
  '0001-01-01T00:00:00Z',
  -62_135_596_800,
  946_684_799,
  eventTime + 86_401_000,
];
// Also the names of columns that every table has, and of fields of the envelope.
const extras: Record<string, unknown>[] = [
  {},
  {},
  { business_receipt_number: 'R-7' },
  { delivery_id: 'x', extra: { deep: [1.5] }, event_time: null },
  { event: 'e', business_id: 'b3', client_id: 'c3', transaction_id: 'ipd/b3/admissions/adm-9/parts/9' },
];

/** Of a few things, so that versions compete, with ties in all their times. */
export function meaningOf(of: Documented, event: string, { below, chance, pick }: Random): Meaning {
  const time = () => start + pick([0, 779, 1000, 2000, 2000]);
  const valueFor: Record<Kind, () => Value | null> = {
    text: () => pick(texts),
    'number id': () => below(6),
    time,
    'other time': time,
    amount: () => pick(amounts),
    whole: () => below(3) - 1,
    json: () => pick(objects),
    untyped: () => pick(['v1', '', 17, 1.5]),
    name: () => pick(names),
    admission: () => null,
  };
  const values = Object.fromEntries(
    Object.entries(of.fields).map(([name, kind]) => [name, chance(25) ? null : valueFor[kind]()]),
  );
  const eventTime = time();
  const odd: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(of.fields)) {
    if (kind !== 'time' || !chance(10)) continue;
    odd[name] = pick(nothings(eventTime));
    values[name] = null;
  }
  const isLean = chance(40);
  const lacks = new Set(Object.keys(of.fields).filter((name) => name !== of.key && isLean && chance(60)));
  const number = below(6);
  if (of.key) values[of.key] = of.fields[of.key] === 'number id' ? number : `thing-${number}`;
  const business = pick(['64a1f0c2e4b0a1b2c3d4e5f7', 'b2', '']);
  // A thing is always a part of the same admission, or of none.
  const isPart = 'admission_id' in of.fields && (of.key === 'transaction_id' || number % 4 > 0);
  const transaction = isPart ? `ipd/${business}/admissions/adm-${number % 3}/parts/${number}` : '';
  return {
    of,
    event,
    eventTime,
    client: pick(['64a1f0c2e4b0a1b2c3d4e5f6', '']),
    business,
    transaction,
    values: {
      ...values,
      ...(of.key === 'transaction_id' && { transaction_id: transaction }),
      ...('admission_id' in of.fields && { admission_id: isPart ? `adm-${number % 3}` : null }),
    },
    odd,
    lacks,
    extra: pick(extras),
  };
}

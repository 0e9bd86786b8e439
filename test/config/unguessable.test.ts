import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { isUnguessable, weaknessOf, withoutSecrets } from '../../src/config/unguessable.ts';

// Hashes of fast-check's values, which are often small numbers and not random.
const bytes = (count: number) =>
  fc.integer().map((seed) => createHash('sha256').update(`token ${seed}`).digest().subarray(0, count));

function uuidOf(random: Buffer): string {
  const own = Buffer.from(random);
  own[6] = (own[6]! & 0x0f) | 0x40;
  own[8] = (own[8]! & 0x3f) | 0x80;
  return own.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const tokens: [string, number, (random: Buffer) => string][] = [
  ['32 hex digits', 16, (random) => random.toString('hex')],
  ['24 hex digits', 12, (random) => random.toString('hex')],
  ['32 hex digits in capitals', 16, (random) => random.toString('hex').toUpperCase()],
  ['a UUID of version 4', 16, uuidOf],
  ['32 characters of base64url', 24, (random) => random.toString('base64url')],
  ['22 characters of base64url', 16, (random) => random.toString('base64url')],
];

it.each(tokens)('%s made at random cannot be guessed, alone or beside words', (name, count, write) => {
  const paths = fc
    .sample(bytes(count), { seed: 1, numRuns: 1_000 })
    .map(write)
    .flatMap((token) => [`/${token}`, `/hooks/receipts-${token}`, `/hooks/${token}/receipts`]);
  const missed = paths.filter((path) => !isUnguessable(path));
  // A few base64url texts look like names.
  expect(missed.length).toBeLessThan(name.includes('base64url') ? paths.length / 100 : 1);
});

it.each(tokens)('a path is shown without %s made at random', (_, count, write) => {
  fc.assert(
    fc.property(bytes(count), (random) => {
      expect(withoutSecrets(`/hooks/${write(random)}/receipts`)).toBe('/hooks/…/receipts');
    }),
    { seed: 1, numRuns: 1_000 },
  );
});

it.each([
  'receipt-events-v1',
  'registered_url_for_receipt_events',
  'receipt-events-2026-11-21-production-v2',
  '2026-11-21T10-30-00Z-receipts-v1',
  'receiptEventsHandlerV2Production2026',
  'REGISTERED-URL-FOR-RECEIPTS-V1',
  'HIP-ABDM-receipts-v1-PROD-2026',
  'webhook-receiver-prod-01-mumbai-ap-south-1',
  'my-api-for-all-of-us-in-eu-v2-2026',
  'Summer2024Winter2025Spring2026',
  'qwertyuiop1234567890asdf',
  'callbacks.receipts.v2.2026',
  'aaaaaaaaaaaaaaaaaaaaaaaa1',
  'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1',
  'a1b2c3d4e5f6a1b2c3d4e5f6',
  '0123456789abcdef0123456789abcdef',
  '20261121000000000000000000000000',
  '918273645519283746501928',
  'deadbeefdeadbeefdeadbeefdeadbeef',
  '00000000-0000-4000-8000-000000000000',
  '12345678-1234-4234-8234-123456789012',
  'abcABC123abcABC123abcABC123',
  '4fZk82mQx0aLw93b',
  '9f86d081884c7d65',
])('words, dates, versions, patterns and short tokens can be guessed: %s', (part) => {
  expect(isUnguessable(`/hooks/${part}`)).toBe(false);
});

it('a path of words is shown whole', () => {
  for (const path of ['/registered_url_for_receipt_events', '/hooks/receipt-events-2026-11-21-v2']) {
    expect(withoutSecrets(path)).toBe(path);
  }
});

it('words of any number can be guessed, however they are joined', () => {
  const word = fc.constantFrom(
    'receipt',
    'events',
    'consent',
    'form',
    'hooks',
    'api',
    '2026',
    'prod',
    'clinic',
  );
  const title = (text: string) => text[0]!.toUpperCase() + text.slice(1);
  const joined = fc
    .tuple(fc.array(word, { minLength: 1, maxLength: 8 }), fc.constantFrom('-', '_', '.', '/'), fc.nat(3))
    .filter(([words]) => words.some((text) => text.length > 4))
    .map(([words, sign, style]) =>
      [
        () => words.join(sign),
        () => words.map(title).join(sign),
        () => words.join(sign).toUpperCase(),
        () => [words[0], ...words.slice(1).map(title)].join(''),
      ][style]!(),
    );
  fc.assert(
    fc.property(joined, (path) => !isUnguessable(`/${path}`)),
    { seed: 1, numRuns: 1_000 },
  );
});

it('no random secret is refused as a repetition', () => {
  fc.assert(
    fc.property(bytes(32), (random) => {
      for (const encoding of ['hex', 'base64url'] as const) {
        expect(weaknessOf(random.toString(encoding).slice(0, 16))).toBeUndefined();
      }
    }),
    { seed: 1, numRuns: 2_000 },
  );
});

it('a text of a few characters that repeat is refused as a secret, however long', () => {
  const repeated = fc
    .tuple(fc.string({ minLength: 1, maxLength: 8 }), fc.integer({ min: 16, max: 200 }))
    .map(([text, length]) => text.repeat(length).slice(0, length));
  fc.assert(fc.property(repeated, (text) => weaknessOf(text) !== undefined));
});

import { createHash } from 'node:crypto';
import { isUnguessable } from '../src/unguessable.ts';

function uuidOf(random: Buffer): string {
  const own = Buffer.from(random);
  own[6] = (own[6]! & 0x0f) | 0x40;
  own[8] = (own[8]! & 0x3f) | 0x80;
  return own.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

it.each<[string, (random: Buffer) => string]>([
  ['32 hex digits', (random) => random.toString('hex')],
  ['24 hex digits', (random) => random.toString('hex', 0, 12)],
  ['32 hex digits in capitals', (random) => random.toString('hex').toUpperCase()],
  ['a UUID of version 4', uuidOf],
])('%s cannot be guessed where they are random, alone or beside words', (_, write) => {
  // Always the same random tokens: the check takes a few of many thousands for patterns.
  for (let seed = 0; seed < 300; seed += 1) {
    const token = write(createHash('sha256').update(`token ${seed}`).digest().subarray(0, 16));
    for (const path of [`/${token}`, `/hooks/receipts-${token}`, `/hooks/${token}/receipts`]) {
      expect([path, isUnguessable(path)]).toEqual([path, true]);
    }
  }
});

it.each([
  'receipt-events-v1',
  'registered_url_for_receipt_events',
  'receipt-events-2026-11-21-production-v2',
  'receiptEventsHandlerV2Production2026',
  'webhook-receiver-prod-01-mumbai-ap-south-1',
  'qwertyuiop1234567890asdf',
  'aaaaaaaaaaaaaaaaaaaaaaaa1',
  'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1',
  'a1b2c3d4e5f6a1b2c3d4e5f6',
  '0123456789abcdef0123456789abcdef',
  'fedcba98765432100123456789abcdef',
  '20261121000000000000000000000000',
  '202611211030002026112112',
  'deadbeefdeadbeefdeadbeefdeadbeef',
  'cafebabedeadbeeffeedface',
  'DeadBeefCafeBabeFeedFaceDeadBeef',
  '2026112120261122deadbeefcafebabe',
  '00000000-0000-4000-8000-000000000000',
  '12345678-1234-4234-8234-123456789012',
  // Of version 1, which is made of a time and of the machine's address.
  'c232ab00-9414-11ec-b3c8-9f6bdeced846',
  // 16 digits of a hash, and 24 in the middle of a word.
  '9f86d081884c7d65',
  'x9f86d081884c7d659a2feaa0x',
])('words, dates, versions, patterns and short tokens can be guessed: %s', (part) => {
  expect(isUnguessable(`/hooks/${part}`)).toBe(false);
});

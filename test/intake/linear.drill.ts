import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { createDrift } from '../../src/intake/drift.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { redactRejected } from '../../src/intake/secrets.ts';
import { addressOf } from '../../src/receiver/http/address.ts';
import { readSignature, verifySignature } from '../../src/receiver/http/signature.ts';
import { Rejection } from '../../src/receiver/intake/rejection.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

const parse = createParser(families);
let database: TestDatabase;
let drift: ReturnType<typeof createDrift>;
beforeAll(async () => {
  database = await createDatabase();
  drift = createDrift(database.pool, createLog('silent'), families);
});
afterAll(async () => {
  await drift.close();
  await database.close();
});

/** Processes a body as the receiver does, without storing it. */
function handle(body: Buffer): string {
  try {
    const { envelope, id } = parse(body);
    drift.observe(id, envelope);
    return id;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    redactRejected(body);
    return error.message;
  }
}

/** The minimum CPU time of a task in ms; other load on the machine does not count. */
function leastCpu(task: () => void, least: number): number {
  const before = process.cpuUsage();
  task();
  const { user, system } = process.cpuUsage(before);
  return Math.min(least, (user + system) / 1000);
}

const parts = 8;

/**
 * In a linear task the whole takes as long as its eight parts one after another, in a quadratic one eight times as long. The
 * bound lies between the two, far from both: caches, garbage collection and other load make up to three times of difference,
 * and some milliseconds. Both are measured over a similar time, because a virtual machine that gets too little of its host
 * counts that as its own.
 */
function expectLinear(task: (size: number) => () => void, size: number): void {
  const [part, whole] = [task(size / parts), task(size)];
  const allParts = () => {
    for (let count = 0; count < parts; count += 1) part();
  };
  let [ofParts, ofWhole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // Some rounds include compilation or garbage collection.
  for (let round = 0; round < 20 && (round < 4 || ofWhole > 3 * ofParts + 10); round += 1) {
    ofParts = leastCpu(allParts, ofParts);
    ofWhole = leastCpu(whole, ofWhole);
    if (ofWhole > 5_000) break;
  }
  expect(ofWhole).toBeLessThanOrEqual(3 * ofParts + 10);
}

const bodyLimit = 256 * 1024;
const repeat = (text: string | ((index: number) => string), size: number, separator = ''): string => {
  if (typeof text === 'string') return text.repeat(size / text.length);
  const parts: string[] = [];
  for (let length = 0; length < size; length += parts.at(-1)!.length + separator.length) {
    parts.push(text(parts.length));
  }
  return parts.join(separator);
};
const receipt = JSON.stringify(receiptCallback());
// Later members override earlier ones of the same name.
const inData = (members: string) => `${receipt.slice(0, -2)},${members}}}`;
const digit = (index: number) => String(1 + ((index * 7) % 9));

it.each<[string, (size: number) => string]>([
  ['zeros before the point', (size) => inData(`"n":1${repeat('0', size)}`)],
  ['zeros after the point', (size) => inData(`"n":0.${repeat('0', size)}`)],
  ['zeros within a number', (size) => inData(`"n":0.1${repeat('0', size)}1`)],
  ['digits', (size) => inData(`"n":${repeat(digit, size)}`)],
  ['digits of an amount', (size) => inData(`"net_amount":0.${repeat(digit, Math.min(size, 16_000))}`)],
  ['digits of an id', (size) => receipt.replace('"receipt_id":4711', `"receipt_id":${repeat(digit, size)}`)],
  ['digits of an exponent', (size) => inData(`"n":1e${repeat(digit, size)}`)],
  ['zeros of an exponent', (size) => inData(`"n":1e-${repeat('0', size)}5`)],
  ['numbers', (size) => inData(`"n":[${repeat('0,', size)}0]`)],
  ['numbers that a double cannot represent', (size) => inData(`"n":[${repeat('9007199254740993,', size)}0]`)],
  ['numbers with an exponent', (size) => inData(`"n":[${repeat('1e5,', size)}0]`)],
  ['numbers that must not be stored', (size) => inData(`"n":[${repeat('1e400,', size)}0]`)],
  ['numbers in a text', (size) => inData(`"n":"${repeat(':1e5,', size)}"`)],
  ['dots in a text', (size) => inData(`"n":":${repeat('.', size)}"`)],
  ['keys', (size) => inData(repeat((index) => `"k${index}":0`, size, ','))],
  ['keys beside data', (size) => receipt.replace('{', `{${repeat((i) => `"k${i}":0`, size, ',')},`)],
  ['keys that are numbers', (size) => inData(repeat((index) => `"${index * 3}":0`, size, ','))],
  ['keys that begin alike', (size) => inData(repeat((i) => `"${'k'.repeat(200)}${i}":0`, size, ','))],
  ['the same key again', (size) => inData(`${repeat('"k":0,', size)}"k":0`)],
  ['one long key', (size) => inData(`"${repeat('k', size)}":0`)],
  ['objects with other keys', (size) => inData(`"n":[${repeat((i) => `{"b${i}":0,"a":0}`, size, ',')}]`)],
  ['open brackets', (size) => repeat('[', size)],
  ['nesting', (size) => inData(`"n":${repeat('[', size / 2)}${repeat(']', size / 2)}`)],
  ['nesting under keys', (size) => inData(`"n":${repeat('{"a":', (size * 5) / 6)}0${repeat('}', size / 6)}`)],
  ['lists side by side', (size) => inData(`"n":[${repeat('[],', size)}[]]`)],
  ['values far down', (size) => inData(`"n":${'['.repeat(60)}${repeat('[],', size)}[]${']'.repeat(60)}`)],
  ['escapes', (size) => inData(`"n":"${repeat('\\n', size)}"`)],
  ['escapes beside a long number', (size) => inData(`"m":1e5,"n":"${repeat('\\"', size)}"`)],
  ['escaped pairs', (size) => inData(`"n":"${repeat('\\ud83d\\ude00', size)}"`)],
  ['half pairs', (size) => inData(`"n":[${repeat('"\\ud83d",', size)}0]`)],
  [
    'faulty texts far down',
    (size) => {
      const key = 'k'.repeat(60);
      const [open, close] = [`{"${key}":`.repeat(50), '}'.repeat(50)];
      return inData(`"n":${open}[${repeat('"\\u0000",', size)}0]${close}`);
    },
  ],
  ['a long text', (size) => inData(`"n":"${repeat('x', size)}"`)],
  ['a long text of another script', (size) => inData(`"n":"${'आ'.repeat(size / 3)}"`)],
  ['a long event', (size) => receipt.replace('receipt.created', repeat('x', size))],
  ['a long business_id', (size) => receipt.replace('64a1f0c2e4b0a1b2c3d4e5f7', repeat('x', size))],
  ['white space', (size) => inData(`"n":${repeat(' ', size)}0`)],
  ['colons and white space', (size) => inData(`"n":"${repeat(': ', size)}"`)],
  [
    'invalid fields',
    (size) => inData(repeat((i) => `"${Object.keys(receiptCallback().data)[i % 27]}":[]`, size, ',')),
  ],
  ['broken JSON', (size) => `${inData(`"n":"${repeat('x', size)}"`)}x`],
])('a body of 256 kB takes at most linear time when it is full of %s', (_, make) => {
  expectLinear((size) => {
    const body = Buffer.from(make(size));
    return () => handle(body);
  }, bodyLimit);
});

const confirmed = '{"event":"abha.x","event_time":1,"data":{';
it.each<[string, (size: number) => string]>([
  ['secret keys', (size) => `${confirmed}${repeat('"token":1,', size)}"n":0}}`],
  [
    'secret keys with long values',
    (size) => `${confirmed}${repeat(`"token":[${'0,'.repeat(500)}0],`, size)}"n":0}}`,
  ],
  ['secret keys in a text', (size) => `${confirmed}"n":"${repeat('\\"token\\"', size)}"}}`],
  ['a nested secret', (size) => `${confirmed}"token":${repeat('[', size / 2)}${repeat(']', size / 2)}}}`],
  ['backslashes', (size) => `${confirmed}"n":"${repeat('\\\\', size)}"}}`],
  ['broken JSON and secret keys', (size) => `${confirmed}${repeat('token ', size)}`],
  ['broken JSON and white space', (size) => `${confirmed}token${repeat(' ', size)}`],
])('a body of 256 kB loses its secrets in at most linear time when it is full of %s', (_, make) => {
  expectLinear((size) => {
    const body = Buffer.from(make(size));
    return () => redactRejected(body);
  }, bodyLimit);
});

// Node accepts at most 16 kB of headers.
const rules = { signatureHeader: 'X-Signed', signatureToleranceS: 9 };

it.each<[string, (size: number) => () => void]>([
  [
    'signatures',
    (size) => {
      const header = `t=1,${repeat(`v1=${'a'.repeat(64)},`, size)}`;
      return () =>
        expect(() =>
          verifySignature(readSignature(header, rules, 1_000, undefined), Buffer.from('x'), ['k']),
        ).toThrow();
    },
  ],
  [
    'commas in a signature',
    (size) => {
      const header = repeat(' ,', size);
      return () =>
        expect(() =>
          verifySignature(readSignature(header, rules, 1_000, undefined), Buffer.from('x'), ['k']),
        ).toThrow();
    },
  ],
  [
    'addresses of proxies',
    (size) => {
      const headers = { 'x-forwarded-for': repeat('::ffff:1.2.3.4,', size) };
      return () => addressOf({ headers, socket: { remoteAddress: '::1' } } as never, 2);
    },
  ],
  [
    'one long address',
    (size) => {
      const headers = { 'x-forwarded-for': `::ffff:${repeat('1', size)}, ::` };
      return () => addressOf({ headers, socket: { remoteAddress: '::1' } } as never, 2);
    },
  ],
])('headers take at most linear time when they are full of %s', (_, task) => {
  expectLinear(task, 64 * 1024);
});

it.each([
  ['texts', (size: number) => inData(`"n":[${repeat('"\\u0000",', size)}0]`)],
  ['keys', (size: number) => inData(repeat((index) => `"\\u0000${index}":0`, size, ','))],
  ['numbers', (size: number) => inData(`"n":[${repeat('1e400,', size)}0]`)],
])('a response names at most 20 of many faulty %s', (_, make) => {
  expect(rejectionOf(make(bodyLimit)).errors).toHaveLength(20);
});

function rejectionOf(json: string): Rejection {
  try {
    parse(Buffer.from(json));
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  throw new Error('It was not rejected.');
}

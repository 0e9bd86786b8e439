import fc from 'fast-check';
import { paths, samples } from '../support/callbacks.ts';
import { killProcesses, spawnService } from '../support/process.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

const count = Math.max(3_000, Number(process.env.DRILL_MINUTES) * 10_000);
const seed = Number(process.env.TEST_SEED);
const documented = [200, 400, 404, 405, 413, 415, 422];
const chunk = 100;
const database = useReceiverDatabase();
jest.setTimeout(Math.max(300_000, count * 20));
afterAll(killProcesses);

/** All places in a callback, as paths of keys. */
function places(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))];
}

function replaced(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by;
  return { ...(value as Json), [key]: replaced((value as Json)[key], rest, by) };
}

const odd = [null, true, '', '\0', '\ud800', 0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308, [], {}, [[]]];
const strange = fc.oneof(
  fc.constantFrom<unknown>(...odd),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
);
/** JSON that JSON.stringify does not write. */
const raw = [
  ...['1e400', '-1e400', '1e-400', '9007199254740993', '0.1000000000000000000001', '-0', '{"__proto__":{}}'],
  ...[10, 70, 5_000, 20_000].map((levels) => `${'{"a":['.repeat(levels)}1${']}'.repeat(levels)}`),
];
const json = { 'Content-Type': 'application/json' };
const headers: Record<string, string>[] = [
  {},
  { 'Content-Type': 'application/json; charset=utf-16' },
  { ...json, 'Content-Encoding': 'gzip' },
  { ...json, 'X-Forwarded-For': '1.2.3.4, x, ::' },
  { ...json, 'X-Webhook-Signature': 't=1,v1=zz' },
];

/** A callback of any family, whole or broken somewhere. */
const anyBody = fc
  .tuple(fc.constantFrom(...Object.values(samples)), fc.integer({ min: 1, max: 2e9 }))
  .chain(([sample, event_time]) => {
    const callback = sample({ event_time });
    const text = JSON.stringify(callback);
    const bytes = Buffer.from(text);
    const at = fc.nat(bytes.length - 1);
    const change = (place: number, byte: number) =>
      Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place + 1)]);
    return fc.oneof(
      fc.constantFrom<string | Buffer>(text, text + ' '.repeat(300_000)),
      fc
        .tuple(fc.constantFrom(...places(callback)), strange)
        .map(([place, by]) => JSON.stringify(replaced(callback, place, by))),
      fc
        .tuple(fc.string({ unit: 'binary', maxLength: 12 }), strange)
        .map(([key, value]) => JSON.stringify({ ...callback, data: { ...callback.data, [key]: value } })),
      fc.constantFrom(...raw).map((value) => text.replace('"data":{', `"data":{"n":${value},`)),
      at.map((end) => bytes.subarray(0, end)),
      fc.tuple(at, fc.nat(255)).map(([place, byte]) => change(place, byte)),
      fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some)),
    );
  });
const anyCase = fc.record({
  body: anyBody,
  path: fc.oneof(
    { weight: 3, arbitrary: fc.constant(paths.other) },
    fc.constantFrom(...Object.values(paths), '/none', `${paths.receipt}/`, `${paths.other}%00?a=b`),
  ),
  method: fc.constantFrom('POST', 'POST', 'POST', 'POST', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
  headers: fc.oneof({ weight: 9, arbitrary: fc.constant(json) }, fc.constantFrom(...headers)),
});

it(`${count} requests: every status is documented, and every accepted callback is stored and applied`, async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  const unexpected: unknown[] = [];
  let accepted = 0;
  const send = async ({
    path,
    body,
    ...request
  }: typeof anyCase extends fc.Arbitrary<infer T> ? T : never) => {
    const signal = AbortSignal.timeout(60_000);
    const response = await fetch(service.url + path, { ...request, body: body as string, signal }).catch(
      (error: Error) => {
        // A server that refuses a large body may close the connection before all of it is sent.
        if (body.length < 256_000 || error.name === 'TimeoutError') throw error;
      },
    );
    await response?.arrayBuffer();
    if (!response) return;
    const { status } = response;
    if (status === 200) accepted += 1;
    const isProblem = response.headers.get('content-type') === 'application/problem+json';
    if (!documented.includes(status) || (status !== 200 && !isProblem))
      unexpected.push({ status, path, body: body.toString().slice(0, 300) });
  };
  for (let done = 0; done < count; done += chunk)
    await Promise.all(fc.sample(anyCase, { numRuns: chunk, seed: seed + done }).map(send));
  expect(unexpected).toEqual([]);
  // About one in twenty is; far fewer would mean that these requests try nothing.
  expect(accepted).toBeGreaterThan(count / 50);
  const rows = (where: string) => database.rows(`select error from deliveries where ${where}`);
  await until(async () => (await rows(`status = 'received'`)).length === 0);
  expect(await rows(`status = 'failed'`)).toEqual([]);
  const stored = await database.rows('select sum(delivery_count)::int as n from deliveries');
  expect(stored).toEqual([{ n: accepted }]);
  expect(service.output()).not.toMatch(/"level":(50|60)/);
  expect(await service.end('SIGTERM')).toBe(0);
});

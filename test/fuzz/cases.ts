import fc from 'fast-check';
import { paths, samples } from '../support/callbacks.ts';

export interface Case {
  kind: string;
  path: string;
  method: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Whether it must be accepted. */
  valid: boolean;
}

type Json = Record<string, unknown>;

const json = { 'Content-Type': 'application/json' };
const names = Object.keys(samples) as (keyof typeof samples)[];
const base = fc
  .tuple(fc.constantFrom(...names), fc.integer({ min: 1, max: 1e9 }), fc.boolean(), fc.boolean())
  .map(([family, event_time, isAtOwnPath, hasOtherName]) => {
    const { event, ...rest } = samples[family]({ event_time });
    const callback: Json = hasOtherName ? { event_type: event, ...rest } : { event, ...rest };
    return { path: isAtOwnPath ? paths[family] : paths.other, callback };
  });

const make = (kind: string, path: string, body: Buffer | string, more: Partial<Case> = {}): Case => ({
  kind,
  path,
  method: 'POST',
  headers: json,
  body: Buffer.from(body as string),
  valid: false,
  ...more,
});

/** All places in a callback, as paths of keys. */
function places(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))];
}

function replaced(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by;
  return { ...(value as Json), [key]: replaced((value as Json)[key], rest, by) };
}

const strange = fc.oneof(
  fc.constantFrom<unknown>(null, true, '', '\0', '\ud800', 0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308, [], {}, [
    [],
  ]),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc
    .constantFrom('__proto__', 'constructor', 'toString')
    .map((key) => JSON.parse(`{"${key}":{"a":1}}`) as unknown),
);

const rawNumber = fc.constantFrom(
  '1e400',
  '-1e400',
  '1e-400',
  '9007199254740993',
  '0.1000000000000000000001',
  '1E+5',
  '-0',
);

const deep = (levels: number) => `${'{"a":['.repeat(levels)}1${']}'.repeat(levels)}`;

/** All kinds of valid and invalid input. */
export const anyCase: fc.Arbitrary<Case> = fc.oneof(
  base.map(({ path, callback }) => make('valid', path, JSON.stringify(callback), { valid: true })),
  base.chain(({ path, callback }) =>
    fc
      .tuple(fc.constantFrom(...places(callback)), strange)
      .map(([place, by]) => make('replaced', path, JSON.stringify(replaced(callback, place, by)))),
  ),
  base.chain(({ path, callback }) =>
    fc.tuple(fc.string({ unit: 'binary', maxLength: 12 }), strange).map(([key, value]) => {
      const entry = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
      return make('added', path, JSON.stringify(callback).replace('"data":{', `"data":{${entry},`));
    }),
  ),
  base.chain(({ path, callback }) =>
    rawNumber.map((number) => {
      const text = JSON.stringify({ ...callback, data: { ...(callback.data as Json), n: '#' } });
      return make('number', path, text.replace('"#"', number));
    }),
  ),
  base.chain(({ path, callback }) => {
    const text = JSON.stringify(callback);
    return fc.nat(text.length - 1).map((at) => make('truncated', path, text.slice(0, at)));
  }),
  base.chain(({ path, callback }) => {
    const bytes = Buffer.from(JSON.stringify(callback));
    return fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
      const changed = Buffer.from(bytes);
      changed[at] = byte;
      return make('flipped byte', path, changed);
    });
  }),
  base.chain(({ path }) =>
    fc.uint8Array({ maxLength: 300 }).map((bytes) => make('bytes', path, Buffer.from(bytes))),
  ),
  base.chain(({ path }) => fc.jsonValue().map((value) => make('json', path, JSON.stringify(value)))),
  base.chain(({ path, callback }) =>
    fc.constantFrom(10, 70, 5_000, 20_000).map((levels) => {
      const text = JSON.stringify(callback).replace('"data":{', `"data":{"deep":${deep(levels)},`);
      return make('deep', path, text);
    }),
  ),
  base.map(({ path, callback }) => make('large', path, JSON.stringify(callback) + ' '.repeat(300_000))),
  base.chain(({ path, callback }) =>
    fc
      .constantFrom<Record<string, string>>(
        {},
        { 'Content-Type': 'text/plain' },
        { 'Content-Type': 'application/json; charset=utf-16' },
        { ...json, 'Content-Encoding': 'gzip' },
        { ...json, 'X-Forwarded-For': '1.2.3.4, x, ::' },
        { ...json, 'X-Webhook-Signature': 't=1,v1=zz' },
      )
      .map((headers) => make('headers', path, JSON.stringify(callback), { headers })),
  ),
  base.chain(({ path, callback }) =>
    fc
      .tuple(
        fc.constantFrom('GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'),
        fc.constantFrom('', '/', '?a=b', '/../x', '%00'),
      )
      .map(([method, tail]) =>
        make('method', path + tail, method === 'GET' || method === 'HEAD' ? '' : JSON.stringify(callback), {
          method,
        }),
      ),
  ),
);

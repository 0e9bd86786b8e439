import fc from 'fast-check';
import { redactRejected, withoutHealthRecords, withoutSecrets } from '../../src/intake/secrets.ts';
import { samples } from '../support/callbacks.ts';

const event = 'abha.hip_data_fetch';
const redact = (json: string, of = event) => String(withoutSecrets(Buffer.from(json), of));
const reject = (body: string | Buffer) => String(redactRejected(Buffer.from(body)).body);

/** Any JSON with secret keys in any spelling, and the same with their values redacted. */
const pairs = fc.letrec<{ value: [unknown, unknown]; member: [string, unknown, unknown] }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .oneof(fc.string({ unit: 'binary' }), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null))
      .map((leaf) => [leaf, leaf] as [unknown, unknown]),
    fc
      .array(tie('value'), { maxLength: 4 })
      .map((items) => [items.map(([one]) => one), items.map(([, other]) => other)] as [unknown, unknown]),
    fc
      .array(tie('member'), { maxLength: 5 })
      .map(
        (members) =>
          [
            Object.fromEntries(members.map(([key, one]) => [key, one])),
            Object.fromEntries(members.map(([key, , other]) => [key, other])),
          ] as [unknown, unknown],
      ),
  ),
  member: fc.oneof(
    fc
      .tuple(
        fc.constantFrom('token', 'TOKEN', 'key_information', 'keyInformation', 'Key-Information'),
        tie('value'),
      )
      .map(([key, [value]]) => [key, value, '[redacted]'] as [string, unknown, unknown]),
    fc
      .tuple(fc.constantFrom('a', 'tokens', 'refresh_token', '"', '\\', 'é', ','), tie('value'))
      .map(([key, value]) => [key, ...value] as [string, unknown, unknown]),
  ),
}));

it('loses the values of all secret keys at any depth, in any notation, and nothing else', () => {
  fc.assert(
    fc.property(
      pairs.value,
      fc.constantFrom(undefined, 1, '\t'),
      fc.boolean(),
      ([value, expected], space, escaped) => {
        let json = JSON.stringify({ data: value }, null, space);
        if (escaped) json = json.replaceAll('tok', '\\u0074ok');
        expect(JSON.parse(redact(json))).toEqual(JSON.parse(JSON.stringify({ data: expected })));
      },
    ),
    { numRuns: 500 },
  );
});

it('keeps every other byte: digits, white space, repeated keys', () => {
  const json =
    '{ "amount": 1.50e400 ,"token" : { "a": ["}", 1] } , "n": 12345678901234567890, "token": 123456\n}';
  expect(redact(json)).toBe(
    '{ "amount": 1.50e400 ,"token" : "[redacted]" , "n": 12345678901234567890, "token": "[redacted]"}',
  );
});

it('JSON within a text that has a secret key is redacted as a whole', () => {
  const inner = JSON.stringify({ token: '123456' });
  expect(redact(JSON.stringify({ data: { inner, note: 'a token' } }))).toBe(
    '{"data":{"inner":"[redacted]","note":"a token"}}',
  );
  expect(reject(JSON.stringify(JSON.stringify({ event, data: { token: '123456' } })))).toBe('"[redacted]"');
});

it('callbacks of other events are the same bytes, whatever their keys', () => {
  const body = Buffer.from(JSON.stringify(samples.receipt({ data: { token: 'x' } })));
  expect(withoutSecrets(body, 'receipt.created')).toBe(body);
  expect(redactRejected(body)).toEqual({ body, deliveryId: null });
});

it.each([
  '{"event":"abha.x","data":{"token":"SECRET"}} trailing',
  '{"data":{"token":"SECRET","event":"abha.x"}',
  `{'data':{'token':'SECRET'}}`,
  '{data:{token:SECRET}}',
  '{"data":{"\\u0074oken":"SECRET"',
  '{"data":{"key_information":{"nonce":"SECRET"',
  'event=abha.x;keyInformation = SECRET',
])('what is no JSON ends behind the first secret key: %s', (body) => {
  for (const bytes of [
    Buffer.from(body),
    Buffer.from(body, 'utf16le'),
    Buffer.from(`\xff${body}`, 'latin1'),
  ]) {
    expect(reject(bytes)).not.toMatch(/S\0?E\0?C\0?R/);
    expect(reject(bytes)).toMatch(/\[redacted\]$/);
  }
});

it('what is no JSON and has no secret key is the same bytes, also with a parameter of that name', () => {
  const body = Buffer.from(
    '{"event":"receipt.created","data":{"url":"https://a.invalid/?token=1&key_information=2"',
  );
  expect(redactRejected(body).body).toBe(body);
});

it.each([
  { data: { token: 'SECRET' } },
  { event: null, data: { token: 'SECRET' } },
  { event: { name: 'x' }, data: { token: 'SECRET' } },
  { event: ' ABHA.x', data: { key_information: 'SECRET' } },
  { event: 'receipt.created', event_type: 'abha.x', data: { token: 'SECRET' } },
  [{ event: 'receipt.created', data: { token: 'SECRET' } }],
])('rejected JSON whose event is not known to be another is redacted: %j', (body) => {
  expect(reject(JSON.stringify(body))).not.toContain('SECRET');
});

it('JSON that is nested too deep for an id is redacted nevertheless', () => {
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const body = Buffer.from(`{"event":"${event}","event_time":1,"data":{"a":${nested},"token":"SECRET"}}`);
  const redacted = redactRejected(body);
  expect(redacted.body.includes('SECRET')).toBe(false);
  expect(redacted.deliveryId).toBeNull();
});

it('nobody sees the content of health records; the rest of the callback is as received', () => {
  const entries = [{ care_context_id: 'cc-1', content: 'SECRET', media: 'm' }];
  const callback = samples.other({ event: 'abha.hiu_data_push', data: { entries } });
  const shown = { ...callback, data: { entries: [{ ...entries[0], content: '[redacted]' }] } };
  expect(JSON.parse(withoutHealthRecords(JSON.stringify(callback)))).toEqual(shown);
  const receipt = JSON.stringify(samples.receipt({ data: { content: 'x' } }));
  expect(withoutHealthRecords(receipt)).toBe(receipt);
});

import fc from 'fast-check';
import { SignatureMissing, SignatureStale, SignatureWrong } from '../../../src/receiver/http/responses.ts';
import { readSignature, verifySignature } from '../../../src/receiver/http/signature.ts';
import { sign } from '../../support/sign.ts';

const now = 1_700_000_000;
const rules = { keys: ['old', 'new'], signatureHeader: 'X-Signed', signatureToleranceS: 180 };
const body = Buffer.from('{"a":1}');
const verify =
  (header: string | undefined, bytes = body, keys = rules.keys) =>
  () =>
    verifySignature(readSignature(header, rules, now * 1000, now * 1000), bytes, keys);

it('a signature under any of the keys passes, alone or among others', () => {
  expect(verify(sign('old', body, now))).not.toThrow();
  expect(verify(sign('new', body, now))).not.toThrow();
  const both = `${sign('lost', body, now)},${sign('new', body, now).split(',')[1]}`;
  expect(verify(both)).not.toThrow();
  expect(verify(`v2=x, ${sign('old', body, now).replace(',', ' , ')}`)).not.toThrow();
});

it('the scheme is HMAC-SHA256 of time, a dot and the body, in hex', () => {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac old
  const hex = '5bed6ff4fdaa1f7539be4b82f6c76ce254e00e815b22b0dc8132056e0392cbcf';
  expect(verify(`t=${now},v1=${hex}`)).not.toThrow();
  expect(verify(`t=${now},v1=${hex.toUpperCase()}`)).not.toThrow();
});

it.each([
  ['is missing', undefined, SignatureMissing],
  ['is empty', '', SignatureMissing],
  ['has no time', sign('old', body, now).split(',')[1], SignatureWrong],
  ['has no v1', `t=${now}`, SignatureWrong],
  ['is under another key', sign('other', body, now), SignatureWrong],
  ['is of another body', sign('old', 'other', now), SignatureWrong],
  [
    'has another time than was signed',
    sign('old', body, now).replace(`${now}`, `${now + 1}`),
    SignatureWrong,
  ],
])('a signature that %s is rejected', (_, header, error) => {
  expect(verify(header)).toThrow(error);
});

it('a time is stale only by both clocks, where both are known', () => {
  const offset = fc.oneof(
    fc.integer({ min: -400, max: 400 }),
    fc.constantFrom(-180, -181, 180, 181, 3 * 86_400),
  );
  fc.assert(
    fc.property(offset, fc.option(offset, { nil: undefined }), (own, database) => {
      const isStale = (seconds: number) => Math.abs(seconds) > 180;
      const read = () => {
        const databaseMs = database === undefined ? undefined : (now + database) * 1000;
        return readSignature(sign('old', body, now), rules, (now + own) * 1000, databaseMs);
      };
      if (database !== undefined && isStale(own) && isStale(database)) expect(read).toThrow(SignatureStale);
      else expect(read).not.toThrow();
    }),
  );
});

it('no other header and no other body passes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.uint8Array(), (header, bytes) => {
      expect(verify(header, Buffer.from(bytes))).toThrow();
      expect(
        verify(sign('old', body, now), Buffer.concat([body, Buffer.from(bytes), Buffer.from('x')])),
      ).toThrow(SignatureWrong);
    }),
  );
});

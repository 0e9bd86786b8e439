import fc from 'fast-check';
import { patientHandle, subjectsOfHandle } from '../../src/console/patient-handle.ts';

const secrets = { adminToken: 'token', oidc: undefined };
const subjects = ['p:platform:733600000002671', 'p:partner:b1:7 7'];
const anySubjects = fc.array(
  fc.string({ unit: 'grapheme' }).map((id) => `p:${id}`),
  { minLength: 1, maxLength: 5 },
);

it('the address of a patient opens to the same ids, and is the same each time', () => {
  fc.assert(
    fc.property(anySubjects, (subjects) => {
      const handle = patientHandle(secrets, subjects);
      expect(subjectsOfHandle(secrets, handle)).toEqual(subjects);
      expect(patientHandle(secrets, subjects)).toBe(handle);
      expect(handle).toMatch(/^[\w-]+$/);
    }),
  );
});

it('an address shows nothing of an id, also not that two begin alike', () => {
  const [one, other] = ['1', '2'].map((end) => patientHandle(secrets, [`p:platform:73360000000267${end}`]));
  expect(Buffer.from(one!, 'base64url').toString('latin1')).not.toMatch(/platform|7336/);
  expect(one!.slice(22, 40)).not.toBe(other!.slice(22, 40));
});

it('an address that was changed anywhere, cut or made up opens nothing', () => {
  const handle = patientHandle(secrets, subjects);
  const bytes = Buffer.from(handle, 'base64url');
  for (const at of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(subjectsOfHandle(secrets, changed.toString('base64url'))).toBeUndefined();
  }
  for (const text of ['', 'x', handle.slice(0, -1), `${handle}A`, `${handle}=`, ` ${handle}`, `${handle}.`])
    expect([text, subjectsOfHandle(secrets, text)]).toEqual([text, undefined]);
  fc.assert(fc.property(fc.base64String(), (text) => subjectsOfHandle(secrets, text) === undefined));
});

it('an address of other secrets of sign-in opens nothing', () => {
  const handle = patientHandle(secrets, subjects);
  const oidc = { issuer: 'i', clientId: 'c', clientSecret: 's', rolesMap: undefined };
  for (const others of [
    { ...secrets, adminToken: 'other' },
    { ...secrets, adminToken: undefined },
    { ...secrets, oidc },
  ])
    expect(subjectsOfHandle(others, handle)).toBeUndefined();
});

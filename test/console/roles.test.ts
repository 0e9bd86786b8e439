import { readValues, roleOf, verifiedEmail } from '../../src/sign-in/roles.ts';

it.each<[unknown, string, string[] | undefined]>([
  [{ roles: ['viewer', 5, 'x'] }, 'roles', ['viewer', 'x']],
  [{ roles: 'viewer, operator' }, 'roles', ['viewer', 'operator']],
  [{ roles: 'viewer operator,privacy' }, 'roles', ['viewer', 'operator', 'privacy']],
  [{ a: { b: ['viewer'] } }, 'a.b', ['viewer']],
  [{ a: { b: ['viewer'] }, 'a.b': ['operator'] }, 'a.b', ['operator']],
  [{ a: { 'b.c': { d: ['viewer'] } } }, 'a.b.c.d', ['viewer']],
  [{ a: { b: {} }, 'a.b': { c: ['viewer'] } }, 'a.b.c', ['viewer']],
  [{ 'https://clinic.invalid/roles': ['privacy'] }, 'https://clinic.invalid/roles', ['privacy']],
  [{ roles: { viewer: { 1: 'x' }, operator: true } }, 'roles', ['viewer', 'operator']],
  [{ roles: { viewer: true, operator: false, privacy: null } }, 'roles', ['viewer']],
  [{ roles: '' }, 'roles', []],
  [{ a: 'viewer' }, 'a.b', undefined],
  [{ roles: null }, 'roles', undefined],
  [{ roles: 7 }, 'roles', undefined],
  [{}, 'constructor.name', undefined],
])('of the claims %j, %s has the values %j', (claims, name, expected) => {
  expect(readValues(claims as Record<string, unknown>, name)).toEqual(expected);
});

it.each([
  [['viewer', 'privacy', 'operator'], 'privacy'],
  [['operator', 'viewer'], 'operator'],
  [['/viewer'], 'viewer'],
  [['/staff/viewer', 'Viewer', 'admin', ''], undefined],
])('without a map, of the values %j, %s counts', (values, expected) => {
  expect(roleOf(values, undefined, undefined)).toBe(expected);
});

it.each([
  [['a'], undefined, 'viewer'],
  [['/clinic/a b'], undefined, 'privacy'],
  [['clinic/a b', 'a'], undefined, 'privacy'],
  [['A', 'viewer', 'privacy'], undefined, undefined],
  [[], 'asha@clinic.example', 'operator'],
  [['a'], 'ravi@clinic.example', 'viewer'],
  [[], 'ravi@clinic.example', undefined],
  [[], 'ravi@other.example', 'viewer'],
  [['asha@clinic.example', '@other.example'], undefined, undefined],
] as const)('with a map, the values %j and the address %s give the role %s', (values, email, expected) => {
  const map = [
    { role: 'viewer', value: 'a' },
    { role: 'privacy', value: '/clinic/a b' },
    { role: 'operator', value: 'Asha@Clinic.example' },
    { role: 'viewer', value: '@Other.example' },
  ] as const;
  expect(roleOf(values, email, [...map])).toBe(expected);
});

it('an address counts only where the same claims say that it is verified', () => {
  const email = 'Asha@clinic.example';
  expect(verifiedEmail([{ email, email_verified: true }])).toBe('asha@clinic.example');
  expect(verifiedEmail([{ email: 'other' }, { email, email_verified: 'true' }])).toBe('asha@clinic.example');
  for (const sources of [
    [{ email }],
    [{ email, email_verified: false }],
    [{ email, email_verified: 'false' }],
    [{ email }, { email_verified: true }],
    [{ email: [email], email_verified: true }],
  ]) {
    expect(verifiedEmail(sources)).toBeUndefined();
  }
});

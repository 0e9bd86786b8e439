import { roleOf } from '../../src/sign-in/roles.ts';

it.each([
  [{ roles: ['viewer', 5, 'privacy', 'operator'] }, 'privacy'],
  [{ roles: 'viewer, operator' }, 'operator'],
  [{ groups: ['viewer'] }, 'viewer'],
  [{ roles: ['viewer'], groups: 'operator' }, 'operator'],
  [{ roles: ['/viewer', 'Viewer', 'admin', ''] }, undefined],
  [{ roles: { privacy: true }, realm: { roles: ['privacy'] } }, undefined],
  [{}, undefined],
])('without a map, %j gives the role %s', (claims, expected) => {
  expect(roleOf([claims], undefined)).toBe(expected);
  expect(roleOf([{}, claims], undefined)).toBe(expected);
});

it.each([
  [['a'], undefined, 'viewer'],
  [['clinic/a b', 'a'], undefined, 'privacy'],
  [['A', 'viewer', 'privacy'], undefined, undefined],
  [[], 'Asha@clinic.example', 'operator'],
  [['a'], 'ravi@clinic.example', 'viewer'],
  [[], 'ravi@clinic.example', undefined],
  [[], 'ravi@other.example', 'viewer'],
  [['asha@clinic.example', '@other.example'], undefined, undefined],
] as const)('with a map, the values %j and the address %s give the role %s', (roles, email, expected) => {
  const map = [
    { role: 'viewer', value: 'a' },
    { role: 'privacy', value: 'clinic/a b' },
    { role: 'operator', value: 'Asha@Clinic.example' },
    { role: 'viewer', value: '@Other.example' },
  ] as const;
  expect(roleOf([{ roles, email, email_verified: true }], [...map])).toBe(expected);
});

it('an address counts only where the same claims say that it is verified', () => {
  const email = 'asha@clinic.example';
  const map = [{ role: 'privacy' as const, value: email }];
  expect(roleOf([{ email: 'other' }, { email, email_verified: true }], map)).toBe('privacy');
  for (const sources of [
    [{ email }],
    [{ email, email_verified: false }],
    [{ email, email_verified: 'false' }],
    [{ email }, { email_verified: true }],
    [{ email: [email], email_verified: true }],
  ]) {
    expect(roleOf(sources, map)).toBeUndefined();
  }
});

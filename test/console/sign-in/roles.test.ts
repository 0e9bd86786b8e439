import { rolesOf } from '../../../src/console/sign-in/provider.ts';

it.each([
  [{ roles: ['privacy', 5, 'viewer', 'operator'] }, ['viewer', 'operator', 'privacy']],
  [{ roles: 'viewer, operator' }, ['viewer', 'operator']],
  [{ groups: ['viewer'] }, ['viewer']],
  [{ roles: ['viewer'], groups: 'desk' }, ['viewer', 'desk']],
  [{ roles: ['/viewer', 'Viewer', ''], realm: { roles: ['privacy'] } }, []],
])('without a map, %j gives %j', (claims, expected) => {
  expect(rolesOf([claims], undefined)).toEqual(expected);
  expect(rolesOf([{}, claims], undefined)).toEqual(expected);
});

it.each([
  [['a'], undefined, ['viewer']],
  [['clinic/a b', 'a'], undefined, ['viewer', 'privacy']],
  [['A', 'viewer', 'privacy'], undefined, []],
  [[], 'Asha@clinic.example', ['operator']],
  [[], 'ravi@clinic.example', []],
  [[], 'ravi@other.example', ['viewer']],
  [['asha@clinic.example', '@other.example'], undefined, []],
] as const)('with a map, %j and the address %s give %j', (roles, email, expected) => {
  const map = [
    { role: 'viewer', value: 'a' },
    { role: 'privacy', value: 'clinic/a b' },
    { role: 'operator', value: 'Asha@Clinic.example' },
    { role: 'viewer', value: '@Other.example' },
  ] as const;
  expect(rolesOf([{ roles, email, email_verified: true }], [...map])).toEqual(expected);
});

it('an address counts only where the same claims say that it is verified', () => {
  const email = 'asha@clinic.example';
  const map = [{ role: 'privacy' as const, value: email }];
  expect(rolesOf([{ email: 'other' }, { email, email_verified: true }], map)).toEqual(['privacy']);
  for (const sources of [
    [{ email }],
    [{ email, email_verified: 'false' }],
    [{ email }, { email_verified: true }],
    [{ email: [email], email_verified: true }],
  ]) {
    expect(rolesOf(sources, map)).toEqual([]);
  }
});

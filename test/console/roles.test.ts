import { highestRole, readRoles } from '../../src/console/sign-in/roles.ts';

it.each<[unknown, string, string[] | undefined]>([
  [{ roles: ['viewer', 5, 'x'] }, 'roles', ['viewer', 'x']],
  [{ roles: 'viewer, operator' }, 'roles', ['viewer', 'operator']],
  [{ roles: 'viewer operator,privacy' }, 'roles', ['viewer', 'operator', 'privacy']],
  [{ a: { b: ['viewer'] } }, 'a.b', ['viewer']],
  [{ a: { b: ['viewer'] }, 'a.b': ['operator'] }, 'a.b', ['operator']],
  [{ 'https://clinic.invalid/roles': ['privacy'] }, 'https://clinic.invalid/roles', ['privacy']],
  [{ a: 'viewer' }, 'a.b', undefined],
  [{ roles: { viewer: true } }, 'roles', undefined],
  [{}, 'constructor.name', undefined],
])('of the claims %j, %s contains the roles %j', (claims, name, expected) => {
  expect(readRoles(claims as Record<string, unknown>, name)).toEqual(expected);
});

it.each([
  [['viewer', 'privacy', 'operator'], 'privacy'],
  [['operator', 'viewer'], 'operator'],
  [['viewer'], 'viewer'],
  [['Viewer', 'admin', ''], undefined],
])('of the roles %j, %s counts', (names, expected) => {
  expect(highestRole(names)).toBe(expected);
});

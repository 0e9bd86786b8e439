import { pathsOf } from '../../../src/callbacks/families/family.ts';
import { families as documentedFamilies } from '../../../src/callbacks/families/index.ts';
import { InvalidConfiguration, parseConfig } from '../../../src/common/config/config.ts';
import { isUnguessable } from '../../../src/common/config/value-types.ts';

const families = documentedFamilies.map(pathsOf);

it.each([
  ['/3f1c9a7e5b2d4f6081a3c5e7', true],
  ['/hooks/Xk3_-pQ9zL0vB7nM2tR5wA/receipts', true],
  ['/018bcfe5-6800-8a3c-9f10-0123456789ab', true],
  ['/hooks/Xk3_-pQ9zL0vB7nM2tR5w', false],
  ['/hooks/a-few/short-segments/that-are-long/together', false],
  ['/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', false],
  ['/events', false],
])(
  'a path is unguessable with a segment of 22 URL-safe characters that do not repeat: %s',
  (path, expected) => {
    expect(isUnguessable(path)).toBe(expected);
  },
);

it('production does not start where documented paths and filters are the only check', () => {
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgresql://u:p@localhost/db' };
  const documented = Object.fromEntries(
    families.flatMap(({ path }) => ('isBasic' in path ? [[path.variable, path.default[0]]] : [])),
  );
  expect(Object.keys(documented)).toHaveLength(3);
  expect(() => parseConfig({ ...production, ...documented }, families)).toThrow(InvalidConfiguration);
  const filters = { ALLOWED_CLIENT_IDS: 'a', ALLOWED_BUSINESS_IDS: 'b' };
  expect(() => parseConfig({ ...production, ...filters }, families)).toThrow(InvalidConfiguration);
  const random = '/3f1c9a7e5b2d4f6081a3c5e7';
  expect(parseConfig({ ...production, EVENTS_PATH: random }, families).paths.other).toEqual([random]);
});

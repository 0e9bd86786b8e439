import { isUnguessable, weaknessOf } from '../../src/config/unguessable.ts';

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

it.each(['short', 'abababababababababab', ''])(
  'a secret that is short or a repetition is weak: %j',
  (secret) => {
    expect(weaknessOf(secret)).toMatch(/^must /);
  },
);

it('a random secret is not weak', () => {
  expect(weaknessOf('8c1f0a9d3e7b5264')).toBeUndefined();
});

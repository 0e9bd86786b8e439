import { formatChange } from '../../src/console/ui/values.tsx';

it.each([
  [112, 100, '+12 %'],
  [50, 100, '−50 %'],
  [100, 100, '0 %'],
  [1_500, 100, '+1,400 %'],
  // More went back than came.
  [100, -50, '+300 %'],
  [100, 0, undefined],
  [100, undefined, undefined],
] as const)('%s instead of %s is a change of %s', (now, before, change) => {
  expect(formatChange(now, before)).toBe(change);
});

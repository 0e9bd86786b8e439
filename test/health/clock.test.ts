import { findClockDifference } from '../../src/health/clock.ts';

it.each([
  [undefined, undefined],
  [0, undefined],
  [-60_000, undefined],
  [60_000, undefined],
  [61_000, '61 s ahead'],
  [-259_200_000, '259200 s behind'],
])('a clock of PostgreSQL that is %p ms ahead: %s', async (aheadMs, expected) => {
  const found = await findClockDifference({ current: async () => 0, aheadMs: () => aheadMs });
  const details = found.map(({ detail }) => detail);
  expect(details).toEqual(expected ? [expect.stringContaining(`PostgreSQL's is ${expected}: `)] : []);
});

import { findFullReads } from './plans.ts';

// Of more, plans.drill.ts.
it('no page, check, command or task reads a large part of a table that grows', async () => {
  expect(await findFullReads(60_000)).toEqual([]);
});

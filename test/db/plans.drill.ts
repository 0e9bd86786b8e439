import { findFullReads } from './plans.ts';

it('no page, check, command or task reads a large part of a table that grows, of 300,000 callbacks', async () => {
  expect(await findFullReads(300_000)).toEqual([]);
});

import { cached } from '../../src/health/cached.ts';

const wallTime = Date.now;
afterEach(() => {
  Date.now = wallTime;
});

it('a result is cached for its time, even if the clock is stepped', async () => {
  let queries = 0;
  const read = cached(async () => {
    queries += 1;
    return queries;
  });
  await read();
  for (const minutes of [10, -10]) {
    Date.now = () => wallTime() + minutes * 60_000;
    expect(await read()).toMatchObject({ value: 1 });
  }
  expect(queries).toBe(1);
});

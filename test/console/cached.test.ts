import { cached } from '../../src/console/overview/cached.ts';

const wallTime = Date.now;
afterEach(() => {
  Date.now = wallTime;
});

it('a result is cached for its time, even if the clock is stepped', async () => {
  let asked = 0;
  const answer = cached(async () => {
    asked += 1;
    return asked;
  });
  await answer();
  for (const minutes of [10, -10]) {
    Date.now = () => wallTime() + minutes * 60_000;
    expect(await answer()).toMatchObject({ value: 1 });
  }
  expect(asked).toBe(1);
});

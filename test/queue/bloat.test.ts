import { watchBloat } from '../../src/queue/bloat.ts';

let now = 0;
beforeEach(() => jest.spyOn(performance, 'now').mockImplementation(() => now));
afterEach(() => jest.restoreAllMocks());

it('a table is bloated once its deleted rows were many for two minutes, and no longer when a vacuum removes them', async () => {
  let dead = 10;
  const isBloated = watchBloat(async () => dead);
  const at = async (seconds: number) => {
    now = seconds * 1_000;
    return isBloated();
  };
  expect(await at(0)).toBe(false);
  dead = 80_000;
  expect(await at(60)).toBe(false);
  expect(await at(121)).toBe(true);
  dead = 10;
  expect(await at(122)).toBe(false);
  dead = 80_000;
  expect(await at(200)).toBe(false);
  expect(await at(243)).toBe(true);
});

it('a table that is full when a process starts is bloated until a vacuum', async () => {
  let dead = 80_000;
  const isBloated = watchBloat(async () => dead);
  expect(await isBloated()).toBe(true);
  dead = 10;
  expect(await isBloated()).toBe(false);
});

it('a busy table that autovacuum cleans each minute is not bloated', async () => {
  let dead = 0;
  const isBloated = watchBloat(async () => dead);
  for (now = 0; now < 600_000; now += 1_000) {
    dead = ((now / 1_000) % 60) * 1_000;
    expect(await isBloated()).toBe(false);
  }
});

import { type HealthCheck, sharedReadiness } from '../../src/common/readiness.ts';
import { until } from '../support/until.ts';

it('concurrent callers, and those of a second, share one run of the checks; a later one sees what has changed', async () => {
  let runs = 0;
  let ok = true;
  const store: HealthCheck = {
    name: 'store',
    required: true,
    check: async () => {
      runs += 1;
      if (!ok) throw new Error('gone');
      return 'here';
    },
  };
  const read = sharedReadiness([store]);
  const results = await Promise.all(Array.from({ length: 1_000 }, read));
  expect([runs, results.every(({ ready }) => ready)]).toEqual([1, true]);
  ok = false;
  await until(async () => !(await read()).ready);
  expect(runs).toBe(2);
});

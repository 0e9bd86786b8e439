import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../src/sandbox/random.ts';
import { type Backend, type Deployment, startDeployment } from './deployment.ts';
import { faults, faultsWithRedis } from './faults.ts';
import { createHistories } from './histories.ts';
import { startLoad } from './load.ts';

/** 0: the short form, see test/run.ts. */
const minutes = Number(process.env.DRILL_MINUTES ?? 0);
const seed = Number(process.env.TEST_SEED);
jest.setTimeout(600_000 + minutes * 60_000);

/** Both in a long run, else one. */
const backends: Backend[] = ['redis', 'postgresql'];
const drawn = minutes > 0 ? backends : [seededRandom(seed, 0).pick(backends)];

describe.each(drawn)(`on %s (seed ${seed})`, (backend) => {
  let deployment: Deployment;
  const usable = Object.entries({ ...faults, ...(backend === 'redis' && faultsWithRedis) });
  const random = seededRandom(seed, backend.length);
  const histories = createHistories(random);
  beforeAll(async () => {
    deployment = await startDeployment(backend);
    await deployment.start('another worker');
  });
  afterAll(() => deployment.stop());

  const seconds = minutes > 0 ? (minutes * 60) / 2 / usable.length : 3;
  const chosen = minutes > 0 ? usable : usable.filter(() => random.between(0, 2) === 0);

  it.each(chosen)(
    '%s: each row is the merge of all callbacks, each of which is there once',
    async (_, inject) => {
      const load = startLoad(() => [deployment.url], histories, minutes > 0 ? 20 : 50);
      for (const end = Date.now() + seconds * 1000; ; ) {
        await pause(random.between(200, 2_000));
        await inject(deployment, random);
        if (Date.now() >= end) break;
      }
      expect((await load.stop()).blamed).toEqual([]);
      await histories.expectMerged(deployment.rows);
    },
  );
});

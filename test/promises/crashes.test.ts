import { seededRandom } from '../../src/sandbox/random.ts';
import { type Deployment, startDeployment } from '../chaos/deployment.ts';
import { createHistories } from '../chaos/histories.ts';
import { startLoad } from '../chaos/load.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { post } from '../support/service.ts';

let deployment: Deployment;
afterEach(() => deployment.stop());

it.each(['redis', 'postgresql'] as const)(
  'with the queue on %s, a killed receiver and a killed worker lose nothing that was acknowledged',
  async (backend) => {
    deployment = await startDeployment(backend);
    const histories = createHistories(seededRandom(Number(process.env.TEST_SEED)));
    const load = startLoad(() => [deployment.url], histories, 10);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const)
      for (const role of ['receiver', 'worker'] as const) {
        await load.more(50);
        const end = await deployment.processOf(role).end(signal);
        expect(end).toBe(signal === 'SIGTERM' ? 0 : signal);
        await deployment.start(role);
      }
    await load.more(50);
    expect(await load.stop()).toMatchObject({ blamed: [] });
    await histories.expectMerged(deployment.rows);
    // A worker takes no callbacks, and says that it is there.
    const worker = deployment.processOf('worker').url;
    expect((await post(worker + paths.receipt, receiptCallback())).status).toBe(404);
    expect((await fetch(`${worker}/healthz`)).status).toBe(200);
  },
);

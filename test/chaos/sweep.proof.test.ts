import pg from 'pg';
import { until } from '../support/until.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { send, untilApplied } from './sending.ts';

let deployment: Deployment;
afterEach(() => deployment.stop());

it('the sweep finds a delivery again after its swept job was lost with its worker and from the queue', async () => {
  deployment = await startDeployment('redis');
  const redis = deployment.redis!.client();
  const deleteLists = async () => {
    const lists = await redis.keys('{receiver}:deliveries-*:*');
    await redis.del(lists.filter((key) => /:(wait|active|marker|stalled)$/.test(key)));
  };
  await until(async () => (await redis.keys('{receiver}:deliveries-*')).length > 0);
  await deployment.processOf('worker').end('SIGTERM');
  const { id } = await send(deployment);
  await until(async () => (await redis.keys('*:wait')).length > 0);
  await deleteLists();

  const other = new pg.Client({ connectionString: deployment.databaseUrl });
  await other.connect();
  await other.query('begin');
  await other.query('lock table receipts');
  await deployment.start('worker');
  await until(async () => (await redis.keys('*swept-*:lock')).length > 0);
  await deployment.processOf('worker').end('SIGKILL');
  await deleteLists();
  // The killed worker's statement would continue.
  await other.query(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'`);
  await other.end();
  await deployment.start('worker');
  await untilApplied(deployment, [id], 100_000);
});

import pg from 'pg';
import { until } from '../support/until.ts';
import { applied, send } from './sending.ts';
import { type Stage, setStage } from './stage.ts';

jest.setTimeout(180_000);

let stage: Stage;
afterEach(() => stage.stop());

it('the sweep finds deliveries again whose swept job was lost with its worker, and then from the queue', async () => {
  stage = await setStage('redis');
  const redis = stage.redis!.client();
  const deleteLists = async () => {
    const lists = await redis.keys('{receiver}:deliveries-*:*');
    await redis.del(lists.filter((key) => /:(wait|active|marker|stalled)$/.test(key)));
  };
  await until(async () => (await redis.keys('{receiver}:deliveries-*')).length > 0);
  await stage.processOf('worker').end('SIGTERM');
  const { id } = await send(stage);
  await until(async () => (await redis.keys('*:wait')).length > 0);
  await deleteLists();

  const other = new pg.Client({ connectionString: stage.databaseUrl });
  await other.connect();
  await other.query('begin');
  await other.query('lock table receipts');
  await stage.start('worker');
  await until(async () => (await redis.keys('*swept-*:lock')).length > 0);
  await stage.processOf('worker').end('SIGKILL');
  await deleteLists();
  // Its statement would go on without it.
  await other.query(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'`);
  await other.end();
  await stage.start('worker');
  await applied(stage, [id], 100_000);
});

import { sql } from 'kysely';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startTcpProxy } from '../chaos/tcp-proxy.ts';

const connectionTo = async (port?: number) => {
  const url = new URL(process.env.TEST_POSTGRES_URL!);
  const proxy = await startTcpProxy(port ?? Number(url.port));
  url.port = String(proxy.port);
  const options = { connections: 1, name: 'test', queryTimeoutMs: 300 };
  const database = openDatabase(url.href, createLog('silent'), options);
  return {
    ...database,
    proxy,
    stop: async () => {
      await database.close();
      await proxy.stop();
    },
  };
};

it('a connection that has become silent is used once more at most, by queries and by transactions', async () => {
  const { db, proxy, stop } = await connectionTo();
  const query = () => sql`select 1`.execute(db);
  const transaction = () => db.transaction().execute((tx) => sql`select 1`.execute(tx));
  for (const run of [query, transaction]) {
    await run();
    proxy.delay(60_000);
    await expect(run()).rejects.toThrow('Query read timeout');
    proxy.delay(0);
    await run();
  }
  await stop();
});

it('the server ends the sessions of a host that has vanished, and with them their locks, within half a minute', async () => {
  const { db, stop } = await connectionTo();
  const { rows } = await sql<Record<string, number>>`
    select name, setting::int from pg_settings where name like 'tcp\\_%' order by name`.execute(db);
  const { tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count, tcp_user_timeout } =
    Object.fromEntries(rows.map(({ name, setting }) => [name, setting as number]));
  const seconds = tcp_keepalives_idle! + tcp_keepalives_interval! * tcp_keepalives_count!;
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(30);
  expect(tcp_user_timeout! / 1000).toBe(seconds);
  await stop();
});

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { sql } from 'kysely';
import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startTcpProxy } from '../chaos/tcp-proxy.ts';

const connectionTo = async (port?: number) => {
  const url = new URL(process.env.TEST_POSTGRES_URL!);
  const proxy = await startTcpProxy(port ?? Number(url.port));
  url.port = String(proxy.port);
  const options = { connections: 1, name: 'test', queryTimeoutMs: 2_000 };
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
    proxy.stall(true);
    await expect(run()).rejects.toThrow('Query read timeout');
    proxy.stall(false);
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

/** A server's last message, as its administrator's `pg_terminate_backend` causes it. */
function terminated(): Buffer {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0');
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from('E'), length, fields]);
}
const readyForQuery = Buffer.from('5a0000000549', 'hex');

it('a connection that the server ends in the moment that it is ready is a failed query, and ends no process', async () => {
  const address = new URL(process.env.TEST_POSTGRES_URL!);
  const target = Number(address.port);
  let ended = 0;
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    near.pipe(far);
    far.on('data', (data) => {
      if (!data.subarray(-6).equals(readyForQuery) || ended === 3) return near.write(data);
      ended += 1;
      near.end(Buffer.concat([data, terminated()]));
    });
    for (const socket of [near, far]) socket.on('error', () => {});
    near.on('close', () => far.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  address.port = String((server.address() as AddressInfo).port);
  const log = createLog('silent');
  const { db, close } = openDatabase(address.href, log, { connections: 1, name: 'test' });
  const query = () => sql`select 1 as one`.execute(db).then(({ rows }) => rows);
  for (let time = 0; time < 3; time += 1) await expect(query()).rejects.toThrow(/terminat|connection error/);
  expect(await query()).toEqual([{ one: 1 }]);
  expect(ended).toBe(3);
  await close();
  server.close();
});

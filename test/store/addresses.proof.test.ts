import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withClient } from '../../src/store/pool.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { post, startTestService } from '../support/service.ts';
import {
  type Standby,
  setSynchronous,
  startPrimary,
  startStandby,
  type TestServer,
} from '../support/standby.ts';
import { until } from '../support/until.ts';

const sockets = mkdtempSync(join(tmpdir(), 'receiver-sockets-'));
chmodSync(sockets, 0o777);
let primary: TestServer;
let standby: Standby;
beforeAll(async () => {
  primary = await startPrimary([`unix_socket_directories=${sockets}`]);
  standby = await startStandby(primary);
});
afterAll(async () => {
  await standby.stop();
  await primary.stop();
  rmSync(sockets, { recursive: true });
});

const credentialsOf = ({ url }: TestServer) => `postgresql://${url.split(/[/@]/)[2]}@`;

/** The URL of several servers, in this order. */
const urlOf = (...ports: number[]) =>
  `${credentialsOf(primary)}${ports.map((port) => `127.0.0.1:${port}`).join(',')}/receiver`;

const serverOf = (url: string) =>
  withClient(url, async (client) => (await client.query('select inet_server_port() as port')).rows[0].port);

it.each(['?host=', ''])('a unix socket leads to its server %s', async (parameter) => {
  const credentials = credentialsOf(primary);
  const url = parameter
    ? `${credentials}/receiver?host=${sockets}&port=${primary.port}`
    : `${credentials}${encodeURIComponent(sockets)}:${primary.port}/receiver`;
  const command = spawnReceiver(['migrate'], { DATABASE_URL: url });
  expect([await command.end(), command.output()]).toEqual([0, expect.any(String)]);
});

it('of several hosts the one that accepts writes is used, whatever the order', async () => {
  const closed = 1;
  expect(await serverOf(urlOf(closed, standby.port, primary.port))).toBe(primary.port);
  expect(await serverOf(urlOf(primary.port, standby.port, closed))).toBe(primary.port);
});

it('where no host accepts writes, the error gives the reason of each', async () => {
  const start = spawnReceiver(['start'], { PORT: '0', DATABASE_URL: urlOf(1, standby.port) });
  expect(await start.end()).toBe(1);
  expect(start.output()).toMatch(
    /^receiver: .*takes no writes.*no server accepts writes: connect ECONNREFUSED 127.0.0.1:1; it is a standby.*\n$/,
  );
});

it('after the promotion of a standby the same process goes on there, with all that was acknowledged', async () => {
  const service = await startTestService({ databaseUrl: urlOf(primary.port, standby.port) });
  const send = async (receipt_id: number) =>
    (await post(`${service.url}${paths.receipt}`, receiptCallback({ data: { receipt_id } }))).status;
  try {
    await setSynchronous(primary, true);
    expect(await send(1)).toBe(200);
    await primary.kill();
    expect(await send(2)).toBe(503);
    await standby.promote();
    await until(async () => (await send(3)) === 200);
    const receipts = () => standby.rows('select receipt_id::int as id from receipts order by 1');
    await until(async () => (await receipts()).length >= 2);
    expect(await receipts()).toEqual(expect.arrayContaining([{ id: 1 }, { id: 3 }]));
  } finally {
    await service.stop();
  }
});

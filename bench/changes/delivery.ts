import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchPostgres } from '../stores/postgres.ts';
import { scalar } from '../stores/postgres.ts';
import { untilEmpty } from '../until-empty.ts';
import { print, quantile, startReceiver } from './receiver.ts';

const waitingChanges = 15_000;

/** Webhooks a second to a server on this machine that accepts at once, and how late they are at a steady rate. */
export async function measureDelivery(
  postgres: BenchPostgres,
  { seconds, rate }: { seconds: number; rate: number },
): Promise<void> {
  const env = { DESTINATIONS_ALLOW: '127.0.0.1' };
  const service = await startReceiver(postgres, 'changes_delivery', env);
  const received: { at: number; changedAt: number }[] = [];
  const server = createServer(async (req, res) => {
    const { timestamp } = JSON.parse(await text(req)) as { timestamp: string };
    received.push({ at: Date.now(), changedAt: Date.parse(timestamp) });
    res.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const destinations = (...args: string[]) => {
    const options = {
      env: { ...process.env, ...env, DATABASE_URL: service.databaseUrl },
      encoding: 'utf8' as const,
    };
    const { status, stdout, stderr } = spawnSync('node', ['dist/cli.js', 'destinations', ...args], options);
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  const untilReceived = async (count: number) => {
    for (const end = Date.now() + 120_000; received.length < count; await sleep(10))
      if (Date.now() > end) throw new Error(`${received.length} of ${count} webhooks`);
  };
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const id = /d-[0-9a-f]{8}/.exec(destinations('add', url, '--families', 'receipt'))![0];
    destinations('pause', id);
    const sending = () =>
      scalar(service.databaseUrl, 'select count(*) from destinations where leased_by is not null');
    if ((await untilEmpty(sending, 60)) > 0) throw new Error('The destination is still sent to.');
    await service.send(waitingChanges);
    if (received.length > 0) throw new Error('Webhooks came while the destination was paused.');
    const changed = await scalar(service.databaseUrl, 'select count(*) from receipts');
    destinations('resume', id);
    await untilReceived(changed);
    const [first, last] = [received[0]!.at, received.at(-1)!.at];
    print(`webhooks: ${((changed * 1000) / (last - first)).toFixed(0)} a second, of ${changed} that waited`);

    for (const perSecond of [rate, rate / 2]) {
      const begunAt = Date.now();
      await service.send(seconds * perSecond, perSecond);
      await sleep(2_000);
      const own = received.filter(({ changedAt }) => changedAt >= begunAt);
      const late = own.map(({ at, changedAt }) => at - changedAt);
      print(
        `webhooks at ${perSecond} callbacks a second: ${own.length}, ${quantile(late, 0.5)} ms after the statement that applied them began, p99 ${quantile(late, 0.99)} ms`,
      );
    }
  } finally {
    await service.stop();
    server.closeAllConnections();
    server.close();
  }
}

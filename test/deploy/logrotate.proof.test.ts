import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase } from '../support/database.ts';
import { findProgram } from '../support/programs.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

it('logrotate moves the output away while the receiver runs, which goes on in the empty file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-logrotate-'));
  const file = join(folder, 'output.log');
  const config = join(folder, 'logrotate.conf');
  const text = readFileSync('deploy/logrotate.conf', 'utf8');
  writeFileSync(config, text.replace('/var/log/webhook-receiver/output.log {', `${file} {`), { mode: 0o600 });
  const database = await createDatabase();
  const service = spawn('sh', ['-c', `exec "${process.execPath}" bin/receiver.js start >> ${file}`], {
    env: { PATH: process.env.PATH, PORT: '0', DATABASE_URL: database.url, REQUEST_LOG: 'json' },
    stdio: 'ignore',
  });
  const lines = (path: string) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { log?: string; msg?: string; url: string; delivery: string });
  const requests = (path: string) => lines(path).filter(({ log }) => log === 'request');
  const ready = await until(
    () => (existsSync(file) ? lines(file) : []).find(({ msg }) => msg === 'ready'),
    40_000,
  );
  const send = async (receipt_id: number) =>
    (await (await post(ready.url + paths.receipt, receiptCallback({ data: { receipt_id } }))).json()) as {
      id: string;
    };
  const first = await send(1);
  await until(() => requests(file).length === 1);
  execFileSync(findProgram('logrotate'), ['--force', '--state', join(folder, 'state'), config]);
  const second = await send(2);
  await until(() => requests(file).length === 1);
  const [rotated] = readdirSync(folder).filter((name) => /^output\.log-\d{8}$/.test(name));
  expect(requests(join(folder, rotated!)).map(({ delivery }) => delivery)).toEqual([first.id]);
  expect(requests(file).map(({ delivery }) => delivery)).toEqual([second.id]);
  service.kill('SIGTERM');
  await once(service, 'exit');
  await database.close();
  rmSync(folder, { recursive: true });
});

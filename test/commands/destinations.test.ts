import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type TestDatabase, useDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const database: TestDatabase = useDatabase();

async function run(...args: string[]): Promise<[output: string, code: unknown]> {
  const env = { DATABASE_URL: database.url, DESTINATIONS_ALLOW: '127.0.0.1' };
  const { code, output } = await runCommand(['destinations', ...args], env);
  return [output, code];
}

it('a destination is added, tested, listed and removed; its secret is shown once, and who did it is in the access log', async () => {
  const webhooks = await startWebhookReceiver();
  const [added] = await run('add', webhooks.url, '--families', 'receipt,appointment', '--public');
  const [, id, secret] = /^(d-\w{8}) is added.*\n(whsec_\S{44})\n$/.exec(added)!;
  webhooks.secret = secret!;
  expect(await run('test', id!)).toEqual([expect.stringMatching(/^200 after \d+ ms\nthanks\n$/), 0]);
  const [rotated] = await run('rotate', id!);
  // The former one signs too.
  expect(await run('test', id!)).toEqual([expect.stringMatching(/^200/), 0]);
  webhooks.secret = /whsec_\S+/.exec(rotated)![0];
  expect(webhooks.secret).not.toBe(secret);
  expect(await run('test', id!)).toEqual([expect.stringMatching(/^200/), 0]);
  expect(webhooks.faults).toEqual([]);
  await run('pause', id!);
  const [list] = await run('list');
  expect(list).toContain(webhooks.url);
  expect(list).toContain('paused');
  expect(list).not.toContain('whsec');
  expect(await run('resume', id!)).toEqual([`${id} is active\n`, 0]);
  expect(await run('redrive', id!)).toEqual(['0 records\n', 0]);
  expect((await run('show', id!))[1]).toBe(0);
  expect(await run('remove', id!)).toEqual([`${id} is removed\n`, 0]);
  expect(await run('test', id!)).toEqual([expect.stringMatching(/There is no destination/), 1]);
  const logged = await database.rows(
    `select filter->>'command' as command from access_log where action = 'destination' order by entry`,
  );
  expect(logged.map(({ command }) => command)).toEqual([
    'add',
    'rotate',
    'pause',
    'resume',
    'redrive',
    'remove',
  ]);
  await webhooks.stop();
});

it('the server of the documents has ten lines, and verifies what is sent', async () => {
  expect(readFileSync('docs/webhook-server.js', 'utf8').trimEnd().split('\n')).toHaveLength(10);
  const [added] = await run('add', 'http://127.0.0.1:9000/', '--families', 'receipt');
  const [id, WEBHOOK_SECRET] = [/^d-\w+/.exec(added)![0], /whsec_\S+/.exec(added)![0]];
  const server = spawn(process.execPath, ['docs/webhook-server.js'], {
    env: { ...process.env, WEBHOOK_SECRET },
  });
  const printed = text(server.stdout);
  await until(async () => (await run('test', id))[1] === 0);
  server.kill();
  expect(await printed).toMatch(/^genuine: true msg_\S+\.\d+\.\{"type":"destination.test"/);
  await run('remove', id);
});

it('says what is wrong with an address or a family', async () => {
  expect(await run('add', 'https://10.0.0.1/', '--families', 'receipt')).toEqual([
    expect.stringMatching(/10\.0\.0\.1 is not a public address\. DESTINATIONS_ALLOW/),
    1,
  ]);
  expect((await run('add', 'https://example.org/', '--families', 'receipts'))[1]).toBe(1);
  expect(await database.rows('select 1 from destinations')).toEqual([]);
});

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { receiptCallback } from '../support/callbacks.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const database: TestDatabase = useDatabase();

async function run(...args: string[]): Promise<[output: string, code: unknown]> {
  const env = { DATABASE_URL: database.url };
  const { code, output } = await runCommand(['destinations', ...args], env);
  return [output, code];
}

it('a destination is added, tested, listed and removed; its secret is shown once, and who did it is in the access log', async () => {
  const webhooks = await startWebhookReceiver();
  const [added] = await run(
    'add',
    webhooks.url,
    '--insecure',
    '--families',
    'receipt,appointment',
    '--public',
  );
  const [, id, secret] = /^(d-\w{8}) is added.*\n(whsec_\S{44})\n$/.exec(added)!;
  webhooks.secret = secret!;
  expect(await run('test', id!)).toEqual([expect.stringMatching(/^200 after \d+ ms\n$/), 0]);
  expect(webhooks.faults).toEqual([]);
  await run('pause', id!);
  const [list] = await run('list');
  expect(list).toContain(webhooks.url);
  expect(list).toContain('paused');
  expect(list).not.toContain('whsec');
  expect(await run('resume', id!)).toEqual([`${id} is active\n`, 0]);
  expect(await run('skip', id!)).toEqual([expect.stringMatching(/no change that it has not accepted/), 1]);
  expect(await run('remove', id!)).toEqual([`${id} is removed\n`, 0]);
  expect(await run('test', id!)).toEqual([expect.stringMatching(/There is no destination/), 1]);
  const logged = await database.rows(
    `select filter->>'command' as command from access_log where action = 'destination' order by entry`,
  );
  expect(logged.map(({ command }) => command)).toEqual(['add', 'pause', 'resume', 'remove']);
  await webhooks.stop();
});

it('skip leaves out the change that is not accepted, and no other', async () => {
  const [added] = await run('add', 'https://example.org/', '--families', 'receipt');
  const id = /^d-\w+/.exec(added)![0];
  await apply(
    database,
    [1, 2].map((receipt_id) => receiptCallback({ data: { receipt_id } })),
  );
  await database.rows('update destinations set attempts = 3');
  expect(await run('skip', id)).toEqual(['receipt 1 is skipped\n', 0]);
  expect(await run('skip', id)).toEqual([expect.stringMatching(/no change that it has not accepted/), 1]);
  await database.rows('update destinations set attempts = 1');
  expect(await run('skip', id)).toEqual(['receipt 2 is skipped\n', 0]);
  await run('remove', id);
});

it('the server of the documents has ten lines, and verifies what is sent', async () => {
  expect(readFileSync('docs/webhook-server.js', 'utf8').trimEnd().split('\n')).toHaveLength(10);
  const [added] = await run('add', 'http://127.0.0.1:9000/', '--insecure', '--families', 'receipt');
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
  expect(await run('add', 'http://example.org/', '--families', 'receipt')).toEqual([
    expect.stringMatching(/without TLS.*--insecure/),
    1,
  ]);
  expect((await run('add', 'https://example.org/', '--families', 'receipts'))[1]).toBe(1);
  expect(await database.rows('select 1 from destinations')).toEqual([]);
});

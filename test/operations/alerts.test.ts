import { startTasks } from '../../src/app/tasks.ts';
import { parseConfig } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import { createOutageAlert, sendAlerts } from '../../src/operations/alerts.ts';
import { addOperationsCommands } from '../../src/operations/commands.ts';
import { createHeartbeat, trim } from '../../src/operations/heartbeat.ts';
import { createLossRecorder } from '../../src/operations/lost.ts';
import type { Check, RunningCore, Task } from '../../src/receiver/feature.ts';
import { requests } from '../../src/receiver/metrics.ts';
import { startMailServer, startWebhook } from '../support/alert-channels.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { canary } from '../support/canary.ts';
import { circuitOf, fallbackOf, stateOf } from '../support/core.ts';
import { openIntake, routeOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { openCore } from './support.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const delays = { afterMs: 0, outageMs: 0, settledMs: 0, repeatMs: 86_400_000 };
const { signal } = new AbortController();
let webhook: Awaited<ReturnType<typeof startWebhook>>;
beforeEach(async () => {
  webhook = await startWebhook();
});

const coreOf = (alerts: object = {}): RunningCore =>
  openCore(database, { alerts: { webhookUrl: webhook.url, email: undefined, ...delays, ...alerts } });
const fail = (family = 'receipt') =>
  database.rows(`with stored as (
      insert into receiver.inbox select gen_random_uuid(), '${family}', '', '', 'b', '${canary}', '', now(), '{}', '{}', null, now() returning id
    ) insert into receiver.pending_deliveries select id, '${family}', 1, 'infinity', '${canary}' from stored`);
const mend = () => database.rows('delete from receiver.pending_deliveries');
const titles = () => webhook.messages.map((text) => text.split('\n')[0]);

it('two processes send each fault once, also after a channel has failed, and its end once', async () => {
  let passes = 0;
  const task: Task = {
    name: 'alerts',
    everyMs: 1,
    run: async (aborted) => {
      await sendAlerts(coreOf(), aborted);
      passes += 1;
    },
  };
  const stops = [0, 1].map(() => startTasks([task], database.db, log));
  const morePasses = () => {
    const before = passes;
    return until(() => passes >= before + 5);
  };
  try {
    await fail();
    await until(() => webhook.messages.length > 0);
    await morePasses();
    expect(webhook.messages).toEqual([
      expect.stringMatching(
        /^Webhook receiver: 1 new\n\nNew:\n• Callbacks could not be applied \(receipt\) \[fail\]\. .*What to do: /,
      ),
    ]);
    webhook.status = 500;
    const { requests: before } = webhook;
    await fail('consent_form');
    await until(() => webhook.requests > before + 3);
    webhook.status = 200;
    await until(() => webhook.messages.length > 1);
    await morePasses();
    await mend();
    await until(() => webhook.messages.length > 2);
    await morePasses();
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
  const n = ['Webhook receiver: 1 new', 'Webhook receiver: 1 new', 'Webhook receiver: 2 resolved'];
  expect(titles()).toEqual(n);
  expect(webhook.messages.join()).not.toContain(canary);
  expect(await database.rows('select from receiver.findings')).toEqual([]);
});

it('what a callback contains writes no line of an alert', async () => {
  await fail('receipt\n• All is well\u2028• also here\u001b[2J');
  await sendAlerts(coreOf(), signal);
  expect(webhook.messages[0]!.split(/[\n\u2028]/)).toEqual([
    'Webhook receiver: 1 new',
    '',
    'New:',
    expect.stringMatching(/^• Callbacks could not be applied .*All is well\\u2028• also here\\u001b/),
  ]);
});

it('a fault is sent when it lasts, when it gets worse, and each day; its end when that lasts', async () => {
  let status: Check['status'] = 'warn';
  const checks = async () => [{ name: 'a', status, title: 'A', detail: '' }];
  const pass = async (more: object = {}) => {
    await sendAlerts({ ...coreOf(more), features: [{ name: 'a', checks }] }, signal);
    return titles().length;
  };
  const later = (column: string, by: string) =>
    database.rows(`update receiver.findings set ${column} = ${column} - interval '${by}'`);
  expect(await pass({ afterMs: 60_000 })).toBe(0);
  await later('found_at', '1 minute');
  expect(await pass({ afterMs: 60_000 })).toBe(1);
  expect(await pass()).toBe(1);
  await later('sent_at', '1 day');
  expect(await pass()).toBe(2);
  expect(await pass()).toBe(2);
  status = 'fail';
  expect(await pass()).toBe(3);
  status = 'ok';
  expect(await pass({ settledMs: 60_000 })).toBe(3);
  await later('gone_at', '1 minute');
  expect(await pass({ settledMs: 60_000 })).toBe(4);
  expect(titles()).toEqual(
    ['new', 'still', 'worse', 'resolved'].map((what) => `Webhook receiver: 1 ${what}`),
  );
});

it('a check that cannot be read is sent, and ends no other', async () => {
  await fail();
  const core = coreOf();
  await sendAlerts(core, signal);
  const broken = { name: 'broken', checks: () => Promise.reject(new Error(canary)) };
  await sendAlerts({ ...core, features: [broken] }, signal);
  await sendAlerts(core, signal);
  expect(titles()).toEqual([1, 2, 3].map((n) => `Webhook receiver: 1 ${n === 3 ? 'resolved' : 'new'}`));
  expect(webhook.messages[2]).toContain('The check broken');
});

it('a worker does not end a check that it does not have', async () => {
  await database.rows(
    `insert into receiver.findings values ('webhook', 'access', '', 'warn', 'a', now(), null, 'warn', now())`,
  );
  const core = coreOf();
  await sendAlerts({ ...core, config: { ...core.config, role: 'worker' } }, signal);
  expect(webhook.messages).toEqual([]);
  await sendAlerts(core, signal);
  expect(titles()).toEqual(['Webhook receiver: 1 resolved']);
});

it('alerts test sends a message to each channel, and says what to do where it is not accepted', async () => {
  const mail = await startMailServer();
  const env = { ALERT_WEBHOOK_URL: webhook.url, ALERT_EMAIL_TO: 'a@clinic.test', SMTP_URL: mail.url };
  const core = coreOf(parseConfig(env, []).alerts);
  const run = () => runCommand(core, addOperationsCommands, 'alerts', 'test');
  const code = process.exitCode;
  expect(await run()).toBe('webhook: sent\ne-mail: sent\n');
  expect(process.exitCode).toBe(code);
  webhook.status = 404;
  mail.unknown = 'a@clinic.test';
  expect((await run()).split('\n')).toEqual([
    expect.stringMatching(/^webhook: status 404\. Check the address in ALERT_WEBHOOK_URL/),
    expect.stringMatching(/^e-mail: EENVELOPE, status 550\. Check SMTP_URL: .*ALERT_EMAIL_TO/),
    '',
  ]);
  expect(process.exitCode).toBe(1);
  process.exitCode = code;
  await mail.stop();
});

it('a channel that fails delays no other: mail goes out without a login, from ALERT_EMAIL_FROM', async () => {
  const mail = await startMailServer();
  webhook.status = 500;
  const SMTP_URL = `smtp://${mail.url.split('@').at(-1)}`;
  const ends = { ALERT_EMAIL_TO: 'a@clinic.test', ALERT_EMAIL_FROM: 'b@clinic.test' };
  const env = { ALERT_WEBHOOK_URL: webhook.url, SMTP_URL, ...ends };
  const alerts = { ...parseConfig(env, []).alerts, ...delays };
  await fail();
  await sendAlerts(coreOf(alerts), signal);
  await sendAlerts(coreOf(alerts), signal);
  await mail.stop();
  const [from, to] = Object.values(ends).toReversed();
  expect(mail.mails).toEqual([{ from, to: [to], subject: 'Webhook receiver: 1 new' }]);
  expect(await database.rows('select channel, sent_status from receiver.findings order by 1')).toEqual([
    { channel: 'e-mail', sent_status: 'fail' },
    { channel: 'webhook', sent_status: null },
  ]);
});

it('each process sends an outage of PostgreSQL, and its end, once', async () => {
  let takes = true;
  const circuit = circuitOf(async () => takes);
  const core = { ...coreOf(), process: stateOf({ circuit }) };
  const pass = createOutageAlert(core);
  await pass(signal);
  takes = false;
  webhook.status = 500;
  await pass(signal);
  webhook.status = 200;
  await pass(signal);
  await pass(signal);
  expect(webhook.messages).toEqual([expect.stringContaining('Callbacks are kept in Redis')]);
  takes = true;
  await pass(signal);
  await pass(signal);
  expect(titles()).toEqual(['Webhook receiver: 1 new', 'Webhook receiver: 1 resolved']);
});

it('a receiver notes the minutes in which it could take callbacks, also those before PostgreSQL was back', async () => {
  let [takes, keeps] = [true, true];
  const circuit = circuitOf(async () => takes);
  const fallback = {
    ...fallbackOf(),
    get state() {
      return { acknowledges: keeps };
    },
  };
  const beat = createHeartbeat({ ...coreOf(), process: stateOf({ circuit, fallback }) });
  const beats = () => database.count('receiver.heartbeats');
  [takes, keeps] = [false, false];
  await beat();
  keeps = true;
  await beat();
  expect(await beats()).toBe(0);
  [takes, keeps] = [true, false];
  await beat();
  expect(await beats()).toBeGreaterThan(0);
  await database.rows(`insert into receiver.heartbeats values (now() - interval '2 years')`);
  const before = await beats();
  await database.rows(`insert into receiver.counters
    select name, '', 1, now() - interval '8 days', now() - interval '8 days' from unnest('{drift,rejections,stale}'::text[]) name`);
  await trim(coreOf().db);
  expect(await beats()).toBe(before - 1);
  const counters = await database.rows('select name from receiver.counters order by 1');
  expect(counters).toEqual([{ name: 'drift' }, { name: 'stale' }]);
});

it('what a receiver has acknowledged and the database no longer has is counted once, but what an erasure has renamed', async () => {
  const intake = openIntake(database);
  const core = { ...coreOf(), process: stateOf({ listRecent: intake.listRecent }) };
  const ids: string[] = [];
  for (const receipt_id of [1, 2, 3, 4]) {
    const body = Buffer.from(JSON.stringify(receiptCallback({ data: { receipt_id } })));
    ids.push((await intake.receive(body, routeOf('receipt'))).id);
  }
  const [, gone, alsoGone, erased] = ids;
  const record = createLossRecorder(core);
  await record();
  await database.rows(
    `insert into receiver.erased values (receiver.hash_of('d:${erased}'), 'infinity', '${erased}')`,
  );
  await database.rows('delete from receiver.inbox where id = any($1)', [[gone, alsoGone, erased]]);
  await record();
  await record();
  expect(await database.rows('select name, key, count::int from receiver.counters')).toEqual([
    { name: 'lost', key: gone, count: 2 },
  ]);
});

it('refused requests are counted once, by their status', async () => {
  const beat = createHeartbeat(coreOf());
  await beat();
  await database.rows('delete from receiver.counters');
  for (const status of [200, 401, 401, 404, 403]) requests.inc({ family: 'receipt', status });
  requests.inc({ family: 'none', status: 401 });
  await beat();
  await beat();
  const rows = await database.rows(
    `select split_part(key, ' ', 2) as status, count::int from receiver.counters order by 1`,
  );
  expect(rows).toEqual([
    { status: '401', count: 2 },
    { status: '403', count: 1 },
  ]);
});

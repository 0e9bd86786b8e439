import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import { type Config, parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createLeases } from '../../src/store/lease.ts';
import { type Mail, startMailServer, startWebhook } from '../support/alert-channels.ts';
import { canary } from '../support/canary.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Channels = [
  webhook: Awaited<ReturnType<typeof startWebhook>>,
  mail: Awaited<ReturnType<typeof startMailServer>>,
];

const { database, start: startService } = useService({ per: 'test' });
let webhook: Channels[0];
let mail: Channels[1];
let logged: string;

beforeEach(async () => {
  [webhook, mail] = await Promise.all([startWebhook(), startMailServer()]);
  logged = '';
  // States without a delivery are made here on purpose.
  await database.rows(`insert into state_checks (name, completed_at)
    select unnest(array['recent', 'late', 'all']), now() on conflict (name) do update set completed_at = now()`);
});
afterEach(() => Promise.all([webhook.stop(), mail.stop()]));

/** A worker with both channels. */
async function start(overrides: Partial<Config['alerts']> = {}) {
  const env = {
    ALERT_WEBHOOK_URL: webhook.url,
    ALERT_EMAIL_TO: 'a@clinic.test, b@clinic.test',
    SMTP_URL: mail.url,
  };
  const { alerts } = parseConfig(env, families);
  // Outages have tests of their own; on a busy machine a store may seem away.
  const times = { everyMs: 20, outageMs: 60_000, settledMs: 0 };
  const log = createLog('info', {
    write: (line) => {
      logged += line;
    },
  });
  return startService({ role: 'worker', log, alerts: { ...alerts, ...times, ...overrides } });
}

const fail = (family = 'receipt') =>
  database.rows('insert into failed_deliveries values ($1, $2, now(), $3)', [
    randomUUID(),
    family,
    `invalid: "${canary}"`,
  ]);
const repair = () => database.rows('delete from failed_deliveries');
/** Resolves once both channels have accepted the start. */
const untilRecorded = () =>
  until(async () => (await database.rows('select 1 from alerts where sent_at is not null')).length === 2);
const titles = (texts: readonly string[]) => texts.map((text) => text.split('\n')[0]);
const began = 'Webhook receiver alerts: 1 began';
const ended = 'Webhook receiver alerts: 1 ended';

it('each channel gets one message when something begins and one when it ends', async () => {
  await start();
  await fail();
  await until(() => webhook.messages.length > 0 && mail.mails.length > 0);
  await repair();
  await until(() => webhook.messages.length > 1 && mail.mails.length > 1);
  expect(webhook.messages).toEqual([
    `${began}\n\nAlerts that began:\n• Deliveries of the family receipt failed. Not in their table: 1. ` +
      '/console/problems says why: replay them after a fix, or mark them as seen',
    `${ended}\n\nAlerts that ended:\n• Deliveries of the family receipt failed: ended after less than a minute`,
  ]);
  const common = { from: 'alerts@clinic.test', to: ['a@clinic.test', 'b@clinic.test'] };
  expect(mail.mails).toEqual<Mail[]>([
    { ...common, subject: began, text: webhook.messages[0]! },
    { ...common, subject: ended, text: webhook.messages[1]! },
  ]);
  await until(async () => (await database.rows('select 1 from alerts')).length === 0);
});

it('all that is found together is one message, with the alias of a business and without personal data', async () => {
  await fail('receipt');
  await fail('consent_form');
  await database.rows(
    `insert into quarantine (id, path, reason, errors, body) values ($1, $2, 'invalid', $3, $4)`,
    [
      randomUUID(),
      `/${canary}`,
      JSON.stringify([{ path: '/data/name', message: canary }]),
      Buffer.from(canary),
    ],
  );
  // A callback every hour for four weeks, and none for two days.
  await database.rows(`
    insert into applied_deliveries
    select gen_random_uuid(), 'receipt', business, at, at, at
    from generate_series(now() - interval '30 days', now() - interval '2 days', '1 hour') as at,
         unnest(array['b-1', 'b-2']) as business`);
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('business', 'b-1', 'North <!channel> & Co', 'test')`,
  );
  const [erasure] = await database.rows(
    `insert into erasures (erased_by, counts) values ('test', '{}') returning id`,
  );
  await database.rows(
    `insert into withheld.records select $1, 'inbox', '{}', now() - days * interval '1 day', now(), to_jsonb($2::text)
     from unnest(array[1, 3]) as days`,
    [erasure!.id, canary],
  );
  // The retention of another process hangs.
  await createLeases(database.db).run('retention', async () => {
    await start();
    await until(() => webhook.messages.length > 0 && mail.mails.length > 0);
  });
  expect(mail.mails[0]!.text.split('\n')).toEqual([
    'Webhook receiver alerts: 6 began',
    '',
    'Alerts that began:',
    ...['consent_form', 'receipt'].map(
      (family) =>
        `• Deliveries of the family ${family} failed. Not in their table: 1. ` +
        '/console/problems says why: replay them after a fix, or mark them as seen',
    ),
    '• The quarantine grows. In the last hour invalid: 1. /console/problems says why: the sender may have changed something',
    ...['North <!channel> & Co (b-1)', 'b-2'].map((business) =>
      expect.stringMatching(
        `^• Business ${business.replace(/[()]/g, '.')} is silent. No receipt for 4[78] hours, 4[789] expected. Is its`,
      ),
    ),
    '• The destruction of erased data is overdue. Withheld records that are due for more than 2 days: 1. The log of the worker says why',
  ]);
  expect(webhook.messages[0]).toContain('North &lt;!channel&gt; &amp; Co');
  expect(`${webhook.messages} ${JSON.stringify(mail.mails)} ${logged}`).not.toContain(canary);
  expect(JSON.stringify(await database.rows('select * from alerts'))).not.toContain(canary);
});

it('what lasts is repeated after a day, and what is marked as seen is over', async () => {
  await start();
  await fail();
  await until(() => webhook.messages.length > 0);
  await untilRecorded();
  await database.rows(`
    update alerts set started_at = started_at - interval '25 hours', sent_at = sent_at - interval '25 hours'`);
  await until(() => webhook.messages.length > 1);
  expect(webhook.messages[1]).toContain(
    'still on:\n• Deliveries of the family receipt failed (for 25 hours). Not',
  );
  await database.rows(`
    insert into seen_deliveries (id, seen_by) select id, 'test' from failed_deliveries`);
  await until(() => webhook.messages.length > 2);
  expect(titles(webhook.messages)).toEqual([began, 'Webhook receiver alerts: 1 still on', ended]);
});

it('a channel that fails is retried with what is on by then, delays no other, and its address is not logged', async () => {
  webhook.status = 503;
  await start();
  await fail();
  await until(() => webhook.requests > 2 && mail.mails.length === 1);
  await fail('consent_form');
  await until(() => mail.mails.length === 2);
  webhook.status = 200;
  await until(() => webhook.messages.length === 1);
  await repair();
  await until(() => webhook.messages.length === 2 && mail.mails.length === 3);
  expect(titles(webhook.messages)).toEqual([
    'Webhook receiver alerts: 2 began',
    'Webhook receiver alerts: 2 ended',
  ]);
  expect(mail.mails.map(({ subject }) => subject)).toEqual([
    began,
    began,
    'Webhook receiver alerts: 2 ended',
  ]);
  expect(logged).toContain('"reason":"status 503"');
  expect(logged).not.toMatch(/secret-of-the-webhook|p@ss|127\.0\.0\.1:/);
});

it('a stop does not wait for a channel; what it interrupted is sent again by another process', async () => {
  webhook.status = 0;
  const service = await start();
  await fail();
  await until(() => webhook.requests === 1);
  await service.stop();
  webhook.status = 200;
  await start();
  await until(() => webhook.messages.length === 1 && mail.mails.length === 1);
});

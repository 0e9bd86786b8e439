import { freePort } from '../../src/store/embedded/free-port.ts';
import { startMailServer, startWebhook } from '../support/alert-channels.ts';
import { runCommand } from '../support/run-command.ts';

let webhook: Awaited<ReturnType<typeof startWebhook>>;
let mail: Awaited<ReturnType<typeof startMailServer>>;
beforeAll(async () => {
  [webhook, mail] = await Promise.all([startWebhook(), startMailServer()]);
});
afterAll(() => Promise.all([webhook.stop(), mail.stop()]));

/** What `receiver alerts test` prints, and its exit code. */
async function run(env: Record<string, string>): Promise<[output: string, code: unknown]> {
  const { code, output } = await runCommand(['alerts', 'test'], env);
  return [output, code];
}

const both = () => ({ ALERT_WEBHOOK_URL: webhook.url, ALERT_EMAIL_TO: 'a@clinic.test,b@clinic.test' });

it('sends a message to each channel', async () => {
  const env = { ...both(), SMTP_URL: mail.url };
  expect(await run(env)).toEqual(['webhook: sent\ne-mail: sent\n', 0]);
  expect(webhook.messages).toEqual([expect.stringMatching(/^Webhook receiver alerts: a test\./)]);
  expect(mail.mails).toEqual([
    {
      from: 'alerts@clinic.test',
      to: ['a@clinic.test', 'b@clinic.test'],
      subject: 'Webhook receiver alerts: a test',
      text: webhook.messages[0],
    },
  ]);
});

it('says what to do about a channel that fails, and ends with 1; secrets are not printed', async () => {
  webhook.status = 404;
  const wrong = { ...both(), SMTP_URL: mail.url.replace('secret', 'mistyped') };
  expect(await run(wrong)).toEqual([
    'webhook: status 404. The address may be revoked or mistyped: create a new one there, and set ALERT_WEBHOOK_URL.\n' +
      'e-mail: EAUTH, status 535. Check the user and the password in SMTP_URL.\n',
    1,
  ]);
  mail.unknown = 'b@clinic.test';
  const away = {
    ...both(),
    ALERT_WEBHOOK_URL: `http://127.0.0.1:${await freePort()}/secret`,
    SMTP_URL: mail.url,
  };
  expect(await run(away)).toEqual([
    'webhook: ECONNREFUSED. Check the address in ALERT_WEBHOOK_URL, and whether this machine may connect to it.\n' +
      'e-mail: 1 of 2 recipients rejected. Check ALERT_EMAIL_TO and the user of SMTP_URL: the server rejects an address.\n',
    1,
  ]);
});

it('does not send a password without TLS, except to this machine', async () => {
  const remote = mail.url.replace('127.0.0.1', '[::ffff:127.0.0.1]');
  const [output, code] = await run({ ALERT_EMAIL_TO: 'a@clinic.test', SMTP_URL: remote });
  expect([output, code]).toEqual([
    expect.stringMatching(/^e-mail: ETLS.* Without TLS no password is sent\.\n$/),
    1,
  ]);
});

it('without a channel, says which variables to set', async () => {
  expect(await run({})).toEqual([
    expect.stringContaining('set ALERT_WEBHOOK_URL, or ALERT_EMAIL_TO and SMTP_URL'),
    1,
  ]);
});

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { listen } from './listen.ts';

/** A server that takes incoming webhooks as Slack does, for the rest of the test. */
export async function startWebhook() {
  const messages: string[] = [];
  const webhook = {
    url: '',
    messages,
    /** Of the responses. */
    status: 200,
    requests: 0,
  };
  const address = await listen(async (req, res) => {
    const body = JSON.parse(await text(req)) as { text: string };
    webhook.requests += 1;
    if (webhook.status === 200) messages.push(body.text);
    res.writeHead(webhook.status).end('ok');
  });
  webhook.url = `${address}/services/secret-of-the-webhook`;
  return webhook;
}

/** A mail server that knows the user and the password of its URL, and needs none. */
export async function startMailServer() {
  const mails: { from: string; to: string[]; subject: string }[] = [];
  const [user, password] = ['alerts@clinic.test', 'p@ss/w:rd secret'];
  const mail = {
    url: '',
    mails,
    /** It rejects this recipient. */
    unknown: '',
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onAuth: (auth, _session, done) =>
      auth.username === user && auth.password === password
        ? done(null, { user })
        : done(new Error('Invalid username or password')),
    onRcptTo: ({ address }, _session, done) =>
      done(address === mail.unknown ? new Error(`no mailbox ${address}`) : null),
    onData: async (stream, { envelope }, done) => {
      const from = envelope.mailFrom ? envelope.mailFrom.address : '';
      const [, subject] = /^subject: (.*)$/im.exec(await text(stream))!;
      mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), subject: subject!.trim() });
      done();
    },
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  mail.url = `smtp://${user}:${password}@127.0.0.1:${port}`;
  return mail;
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/** A server that takes incoming webhooks as Slack does. */
export async function startWebhook() {
  const messages: string[] = [];
  const webhook = {
    url: '',
    messages,
    /** Of the responses. */
    status: 200,
    requests: 0,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer(async (req, res) => {
    const body = JSON.parse(await text(req)) as { text: string };
    webhook.requests += 1;
    if (webhook.status === 200) messages.push(body.text);
    res.writeHead(webhook.status).end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  webhook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/secret-of-the-webhook`;
  return webhook;
}

export interface Mail {
  from: string;
  to: string[];
  subject: string;
  text: string;
}

/** A mail server that knows the user and the password of its URL, and needs none. */
export async function startMailServer() {
  const mails: Mail[] = [];
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
      mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), ...parse(await text(stream)) });
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

function parse(source: string): Pick<Mail, 'subject' | 'text'> {
  const [head, body] = source.split(/\r\n\r\n(.*)/s) as [string, string];
  const isQuoted = /^content-transfer-encoding: quoted-printable/im.test(head);
  const bytes = isQuoted
    ? body
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    : body;
  const text = Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n').trim();
  return { subject: /^subject: (.*)$/im.exec(head)![1]!.trim(), text };
}

import type { Config } from '../common/config/config.ts';
import { withDeadline } from '../common/timeouts.ts';

/** Without personal data. */
export interface Message {
  /** One line. */
  title: string;
  text: string;
}

/** A message was not accepted. It does not have the channel's address, which is a secret. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

export interface Channel {
  name: 'webhook' | 'e-mail';
  /** What to do where it accepts no message. */
  advice: string;
  /** @throws NotSent; the signal's reason, where the server may have accepted it */
  send: (message: Message, signal?: AbortSignal) => Promise<void>;
}

const timeoutMs = 10_000;

export const openChannels = ({ webhookUrl, email }: Config['alerts']): Channel[] => [
  ...(webhookUrl ? [webhook(webhookUrl)] : []),
  ...(email ? [mail(email)] : []),
];

/** Not the message, which could repeat the address. */
function codeOf(error: unknown): string {
  const { code, name, cause } = error as { code?: string; name?: string; cause?: { code?: string } };
  if (name === 'TimeoutError' || code === 'EABORT') return `no response within ${timeoutMs / 1000} s`;
  return code ?? cause?.code ?? name ?? 'unknown error';
}

/** JSON as Slack, Mattermost, Rocket.Chat and Google Chat take it. */
function webhook(url: string): Channel {
  const send: Channel['send'] = async ({ text }, outer) => {
    // Slack reads <…> as a link or a mention.
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const post = (signal: AbortSignal) =>
      fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ text: escaped }),
        redirect: 'manual', // another host must not get the message
        signal,
      });
    const { ok, status, body } = await withDeadline(timeoutMs, outer, post).catch((error) => {
      outer?.throwIfAborted();
      throw new NotSent(codeOf(error));
    });
    await body?.cancel();
    if (!ok) throw new NotSent(`status ${status}`);
  };
  return { name: 'webhook', advice: webhookAdvice, send };
}

const webhookAdvice =
  'Check the address in ALERT_WEBHOOK_URL, which may be revoked, and whether this machine may connect to it';
const mailAdvice =
  'Check SMTP_URL: user, password, host and port (smtps:// for 465, smtp:// for others), and the addresses in ALERT_EMAIL_TO and ' +
  'ALERT_EMAIL_FROM; whether this machine may connect, and trusts the certificate (NODE_EXTRA_CA_CERTS). Without TLS no ' +
  'password is sent';

/** Loads nodemailer with the first message. */
function mail({ smtpUrl, to, from }: NonNullable<Config['alerts']['email']>): Channel {
  const { hostname, password } = new URL(smtpUrl);
  // Only to this machine may a password go without TLS.
  const requireTLS = password !== '' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  const send: Channel['send'] = async ({ title, text }, outer) => {
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ url: smtpUrl, requireTLS });
    try {
      const mail = { to: [...to], from, subject: title, text };
      await withDeadline(timeoutMs, outer, (signal) => transport.sendMail({ ...mail, signal }));
    } catch (error) {
      outer?.throwIfAborted();
      const { responseCode: status } = error as { responseCode?: number };
      const code = codeOf(error);
      throw new NotSent(status ? `${code}, status ${status}` : code);
    } finally {
      transport.close();
    }
  };
  return { name: 'e-mail', advice: mailAdvice, send };
}

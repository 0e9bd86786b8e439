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
  readonly advice: string;
  constructor(problem: string, advice: string) {
    super(problem);
    this.name = 'NotSent';
    this.advice = advice;
  }
}

export interface Channel {
  name: 'webhook' | 'e-mail';
  /** @returns the fault of some of the recipients. @throws NotSent; the signal's reason, where the server may have accepted it */
  send: (message: Message, signal?: AbortSignal) => Promise<NotSent | undefined>;
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
      throw new NotSent(codeOf(error), connectAdvice);
    });
    await body?.cancel();
    if (ok) return undefined;
    const isBusy = status === 429 || status >= 500;
    throw new NotSent(`status ${status}`, isBusy ? 'Try again later' : addressAdvice);
  };
  return { name: 'webhook', send };
}

const connectAdvice = 'Check the address in ALERT_WEBHOOK_URL, and whether this machine may connect to it';
const addressAdvice =
  'The address may be revoked or mistyped: create a new one there, and set ALERT_WEBHOOK_URL';

const loginAdvice = 'Check the user and the password in SMTP_URL';
const recipientAdvice = 'Check ALERT_EMAIL_TO and ALERT_EMAIL_FROM: the server rejects an address';
const mailAdvice: Record<string, string> = {
  EAUTH: loginAdvice,
  ENOAUTH: loginAdvice,
  EENVELOPE: recipientAdvice,
  EMESSAGE: 'Check ALERT_EMAIL_FROM: the server rejects the message',
};
const otherMailAdvice =
  'Check host and port in SMTP_URL (smtps:// for 465, smtp:// for others), whether this machine may connect, and whether ' +
  'it trusts the certificate (NODE_EXTRA_CA_CERTS). Without TLS no password is sent';

/** Loads nodemailer with the first message. */
function mail({ smtpUrl, to, from }: NonNullable<Config['alerts']['email']>): Channel {
  const { hostname, password } = new URL(smtpUrl);
  // Only to this machine may a password go without TLS.
  const requireTLS = password !== '' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  const send: Channel['send'] = async ({ title, text }, outer) => {
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ url: smtpUrl, requireTLS });
    try {
      const { rejected } = await withDeadline(timeoutMs, outer, (signal) =>
        transport.sendMail({ to: [...to], from, subject: title, text, signal }),
      );
      if (rejected.length === 0) return undefined;
      return new NotSent(`${rejected.length} of ${to.length} recipients rejected`, recipientAdvice);
    } catch (error) {
      outer?.throwIfAborted();
      const { responseCode: status } = error as { responseCode?: number };
      const code = codeOf(error);
      throw new NotSent(status ? `${code}, status ${status}` : code, mailAdvice[code] ?? otherMailAdvice);
    } finally {
      transport.close();
    }
  };
  return { name: 'e-mail', send };
}

import type { Config } from '../common/config/config.ts';
import { withDeadline } from '../common/timeouts.ts';

/** A message to the people who operate the receiver; without personal data. */
export interface Message {
  /** One line. */
  title: string;
  text: string;
}

/** Raised when a message was not accepted: without the channel's address, which is a secret. */
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
  /**
   * @returns what went wrong for some of the recipients
   * @throws NotSent; the signal's reason, where the server may have accepted it
   */
  send: (message: Message, signal?: AbortSignal) => Promise<NotSent | undefined>;
}

const timeoutMs = 10_000;

/** The configured channels, in the order of sending. */
export function openChannels({ webhookUrl, email }: Config['alerts']): Channel[] {
  return [...(webhookUrl ? [webhook(webhookUrl)] : []), ...(email ? [mail(email)] : [])];
}

/** The code of a failed connection: a message could repeat the address. */
function codeOf(error: unknown): string {
  const { code, name, cause } = error as { code?: string; name?: string; cause?: { code?: string } };
  if (name === 'TimeoutError' || code === 'EABORT') return `no response within ${timeoutMs / 1000} s`;
  return code ?? cause?.code ?? name ?? 'unknown error';
}

/** JSON as Slack, Mattermost, Rocket.Chat and Google Chat take it. */
function webhook(url: string): Channel {
  return {
    name: 'webhook',
    send: async ({ text }, signal) => {
      // Slack reads <…> as a link or a mention.
      const escaped = text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;' })[sign] ?? '&gt;');
      const request = {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ text: escaped }),
        // Another host must not get the message.
        redirect: 'manual',
      } as const;
      const response = await withDeadline(timeoutMs, signal, (ending) =>
        fetch(url, { ...request, signal: ending }),
      ).catch((error) => {
        signal?.throwIfAborted();
        throw new NotSent(
          codeOf(error),
          'Check the address in ALERT_WEBHOOK_URL, and whether this machine may connect to it',
        );
      });
      await response.body?.cancel();
      if (response.ok) return undefined;
      const advice =
        response.status === 429 || response.status >= 500
          ? 'Try again later'
          : 'The address may be revoked or mistyped: create a new one there, and set ALERT_WEBHOOK_URL';
      throw new NotSent(`status ${response.status}`, advice);
    },
  };
}

const mailAdvice: Record<string, string> = {
  EAUTH: 'Check the user and the password in SMTP_URL',
  ENOAUTH: 'Check the user and the password in SMTP_URL',
  EENVELOPE: 'Check ALERT_EMAIL_TO and ALERT_EMAIL_FROM: the server rejects an address',
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
  return {
    name: 'e-mail',
    send: async ({ title, text }, signal) => {
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({ url: smtpUrl, requireTLS });
      try {
        const mail = { to: [...to], from, subject: title, text };
        const { rejected } = await withDeadline(timeoutMs, signal, (ending) =>
          transport.sendMail({ ...mail, signal: ending }),
        );
        if (rejected.length === 0) return undefined;
        return new NotSent(`${rejected.length} of ${to.length} recipients rejected`, mailAdvice.EENVELOPE!);
      } catch (error) {
        signal?.throwIfAborted();
        const { responseCode } = error as { responseCode?: number };
        const code = codeOf(error);
        const status = responseCode === undefined ? '' : `, status ${responseCode}`;
        throw new NotSent(`${code}${status}`, mailAdvice[code] ?? otherMailAdvice);
      } finally {
        transport.close();
      }
    },
  };
}

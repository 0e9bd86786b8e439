import { DatabaseClient } from './client.ts';

export interface Target {
  /** The variable of its URL. */
  variable: string;
  store: 'PostgreSQL' | 'Redis';
  host: string;
  port: number;
  user?: string | undefined;
  database?: string | undefined;
}

/** PostgreSQL cannot be reached; the message names the variable, and nothing else of its value than host, port and names. */
export class DatabaseUnreachable extends Error {}

/**
 * DatabaseUnreachable where an error, or a cause of it, is that of a connection; other errors as they are.
 *
 * @param variable that has the URL
 */
export function withVariable(error: unknown, variable: string, url: string): unknown {
  for (let cause = error as (Error & { code?: string }) | undefined; cause; cause = cause.cause as Error) {
    if (cause instanceof DatabaseUnreachable) return error;
    // A statement that took too long says nothing of the address.
    if (cause.code === '57014' || cause.message === 'Query read timeout') return error;
    const { host, port, user, database } = new DatabaseClient({ connectionString: url });
    const text = explainConnection(cause, { variable, store: 'PostgreSQL', host, port, user, database });
    if (text) return new DatabaseUnreachable(`${variable}: ${text}`, { cause });
  }
  return error;
}

/** Why a store cannot be reached, and what to change; undefined where the error is about something else. */
export function explainConnection(error: unknown, target: Target): string | undefined {
  const { message = '', code = '' } = (error ?? {}) as { code?: string; message?: string };
  const { variable, store, host, port } = target;
  const [user, database] = [target.user, target.database].map(quote);
  const at = host.startsWith('/') ? host : `${host}:${port}`;
  // By the error's code and message.
  const causes: [pattern: RegExp, text: string][] = [
    [/^(ENOTFOUND|EAI_AGAIN) /, `the host name ${host} does not resolve. Correct ${variable}, or the DNS`],
    [/^(ECONNREFUSED|ENOENT) /, `nothing listens at ${at}. Start ${store} there, or correct ${variable}`],
    [
      /^(EHOSTUNREACH|ENETUNREACH) /,
      `${at} cannot be reached. Check the network, firewalls, and ${variable}`,
    ],
    [
      /^(ECONNRESET|EPIPE) |^ Connection (terminated un|is closed)/,
      `${at} closes the connection. Read its log`,
    ],
    [
      /^(ETIMEDOUT|57014) |^ (timeout |Query read timeout|Connection terminated due|Command timed out|No response)/,
      `${at} does not answer. Check that ${store} runs there, firewalls, whether it expects TLS, and ${variable}`,
    ],
    [
      /^28P01 |SASL/,
      `the password of ${user} is wrong. Correct it in ${variable}, or run: alter role ${user} password '…'`,
    ],
    [
      /^28000 /,
      `${user} is not admitted. Create the role, permit it in pg_hba.conf, or set sslmode in ${variable}`,
    ],
    [
      /^3D000 /,
      `there is no database ${database}. Run: create database ${database} owner ${user} encoding 'UTF8' template template0`,
    ],
    [
      /^53300 /,
      'all connections are in use. Close some, or raise max_connections, or the limit of the pooler',
    ],
    [/^57P03 /, `${store} is starting, stopping or recovering. Read its log`],
  ];
  return causes.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
}

const quote = (name = '') => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

import bytes from 'bytes';
import { z } from 'zod';
import { defaultConnections, fewestConnections } from './connections.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { decode } from './decode.ts';
import { keep, partsOf, retention } from './durations.ts';
import { roles } from './roles.ts';
import { weaknessOf } from './unguessable.ts';

/** The registered paths of an event family. */
export interface FamilyPaths {
  name: string;
  /** None: its path takes every event. */
  events: readonly string[];
  path: { variable: string; default: readonly string[]; isBasic?: true };
}

const list = z.string().default('').transform(partsOf);

const network = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  'must be addresses or CIDRs, comma-separated, such as 192.0.2.0/24',
);

const flag = (byDefault: 'true' | 'false') =>
  z
    .enum(['true', 'false', '1', '0'], 'must be true or false')
    .default(byDefault)
    .transform((text) => text === 'true' || text === '1');

const secret = z
  .string()
  .trim()
  .superRefine((text, context) => {
    const message = weaknessOf(text);
    if (message) context.addIssue({ code: 'custom', message });
  });

const integer = (min: number, max: number) =>
  z.coerce
    .number(`must be a whole number from ${min} to ${max}`)
    .int(`must be a whole number from ${min} to ${max}`)
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`);

/**
 * Encodes the credentials of a URL, so that a password may contain characters such as @ or /. The password ends at the
 * last @ before the query; where the result is no URL, a raw ? is part of the password, which ends at the last @ of all.
 */
function encodeCredentials(address: string): string {
  const parts =
    /^([a-z+]+:\/\/)([^?]*)@([^@?]*(?:\?.*)?)$/s.exec(address) ??
    (URL.canParse(address) ? undefined : /^([a-z+]+:\/\/)(.*)@(.*)$/s.exec(address));
  if (!parts) return address;
  const [, scheme, credentials, rest] = parts;
  const encoded = credentials!.split(/:(.*)/s, 2).map((part) => encodeURIComponent(decode(part)));
  return `${scheme}${encoded.join(':')}@${rest}`;
}

const url = (example: string, pattern: RegExp) =>
  z
    .string()
    .transform(encodeCredentials)
    .refine((address) => pattern.test(address), {
      message: `must be a URL such as ${example}; encode in a password: % as %25, / as %2F, ? as %3F, # as %23`,
      abort: true,
    });

const socket = z
  .string()
  .startsWith('/', 'must be an absolute path, such as /run/webhook-receiver/1/receiver.sock')
  // Longer ones do not fit into the address of a socket.
  .refine((path) => Buffer.byteLength(path) <= 107, 'must have at most 107 bytes');

const databaseUrl = url('postgresql://user:password@host:5432/database', /^postgres(ql)?:\/\/./).superRefine(
  (address, context) => {
    try {
      parseDatabaseUrl(address);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
    }
  },
);

const host = '(\\[[\\da-fA-F:.]+\\]|[^\\s/?#@,:[\\]]+)(:\\d{1,5})?';
const redisUrl = url(
  'redis://:password@host:6379/0, redis+sentinel://host,host/name or redis+cluster://host,host',
  new RegExp(
    `^rediss?(:\\/\\/([^/?#]*@)?${host}(\\/\\d*)?|` +
      `\\+sentinel:\\/\\/([^/?#]*@)?${host}(,${host})*\\/[^/?#]+(\\/\\d*)?|` +
      `\\+cluster:\\/\\/([^/?#]*@)?${host}(,${host})*\\/?)$`,
  ),
);

const path = z
  .string()
  .regex(/^\/[\w\-.~/]*$/, 'must start with / and contain only letters, digits and - . _ ~ /')
  .refine((text) => !reserved.includes(text), 'is a path that the service uses itself');

const paths = z.string().transform(partsOf).pipe(z.array(path).min(1, 'must have a path'));

const reserved = ['/', '/healthz', '/readyz', '/metrics', '/console', '/openapi.json'];

// The canonical name in Node's time zone database.
function nameOfZone(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined; // no such zone
  }
}

// Node and PostgreSQL disagree about abbreviations and offsets: IST is India in Node and Israel in PostgreSQL, where
// +05:30 is west of Greenwich. Names with a slash, and UTC, mean the same in both.
const timezone = z.string().superRefine((name, context) => {
  const known = nameOfZone(name);
  if (known && (name.includes('/') || name === 'UTC')) return;
  const meant = known?.replace('Asia/Calcutta', 'Asia/Kolkata');
  const message = meant?.includes('/')
    ? `must be a full name of the IANA time zone database: use ${meant} if ${name} means that`
    : 'must be a full name of the IANA time zone database, such as Asia/Kolkata, or UTC';
  context.addIssue({ code: 'custom', message });
});

const size = (least: string, most: string, byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text, context) => {
      const parsed = bytes.parse(text);
      if (parsed !== null && parsed >= bytes.parse(least)! && parsed <= bytes.parse(most)!) return parsed;
      const message = `must be a size from ${least} to ${most}, such as ${byDefault}`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    });

const issuer = z
  .string()
  .refine(
    (address) =>
      /^https:\/\/./.test(address) || /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/.test(address),
    'must be an https address such as https://accounts.example.org',
  )
  .refine((address) => URL.canParse(address), 'must be a URL');

const webAddress = (example: string) =>
  z
    .string()
    .refine(
      (address) => /^https?:\/\/./.test(address) && URL.canParse(address),
      `must be a URL such as ${example}`,
    );

/** The address that browsers use, as scheme, host and port. */
const publicUrl = z.string().transform((address, context) => {
  const url = /^https?:\/\/./.test(address) && URL.canParse(address) ? new URL(address) : undefined;
  if (url && url.href === `${url.origin}/`) return url.origin;
  const isBelow = url && (url.pathname !== '/' || url.search !== '' || url.hash !== '');
  const message = isBelow
    ? 'must have no path: the receiver needs its own host name, such as https://receiver.example.org'
    : 'must be a URL without a user, such as https://receiver.example.org';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const email = z.email('must be an e-mail address such as alerts@example.org');

// As in W3C Baggage: percent-encoded values. A header may contain a key, so no message contains a value.
const pairs = z.string().transform((text, context) => {
  try {
    const entries = partsOf(text).map((part) => {
      const [, name, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(part)!;
      return [name!, decodeURIComponent(value!)] as const;
    });
    return Object.fromEntries(entries);
  } catch {
    context.addIssue({
      code: 'custom',
      message: 'must be name=value, comma-separated; encode , in a value as %2C, % as %25',
    });
    return z.NEVER;
  }
});

const scopes = z
  .string()
  .default('openid profile email')
  .transform((text) => text.split(/[\s,]+/).filter((scope) => scope !== ''))
  .refine((names) => names.includes('openid'), 'must contain openid')
  .transform((names) => names.join(' '));

// What is after a role's = may contain further ones. No message contains a value: it may be somebody's address.
const rolesMap = z.string().transform((text, context) => {
  const entries = partsOf(text).map((part) => {
    const [, role, value] = /^(\w+)\s*=\s*(.+)$/.exec(part) ?? [];
    return { role: roles.find((name) => name === role), value: decode(value ?? '') };
  });
  if (entries.length > 0 && entries.every(({ role, value }) => role && value !== '' && value !== '@')) {
    return entries as { role: (typeof roles)[number]; value: string }[];
  }
  context.addIssue({
    code: 'custom',
    message:
      `must be role=value, comma-separated, with the roles ${roles.join(', ')}; a value is one of OIDC_ROLES_CLAIM, ` +
      'an e-mail address or @domain; encode , in a value as %2C, % as %25',
  });
  return z.NEVER;
});

/** The environment variables, each with its default and its error messages. */
export const environmentSchema = (families: readonly FamilyPaths[]) =>
  z.object({
    NODE_ENV: z.string().optional(),
    HOST: z.string().default('127.0.0.1'),
    PORT: integer(0, 65_535).default(8080),
    SOCKET: socket.optional(),
    DATABASE_URL: databaseUrl.optional(),
    DATABASE_SCHEMA: z
      .string()
      .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/, 'must have 1 to 63 letters a to z, digits and _')
      .refine(
        (name) => !['reporting', 'withheld', 'bullmq'].includes(name),
        'is a schema that the service uses for other things',
      )
      .default('public'),
    DIRECT_DATABASE_URL: databaseUrl.optional(),
    DATABASE_CONNECTIONS: integer(fewestConnections, 1_000).default(defaultConnections),
    REDIS_URL: redisUrl.optional(),
    QUEUE_PREFIX: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,50}$/, 'must have 1 to 50 letters, digits, - and _')
      .default('receiver'),
    DATA_DIR: z.string().default('.data'),
    ROLE: z.enum(['all', 'receiver', 'worker'], 'must be all, receiver or worker').default('all'),
    SIGNING_KEYS: list,
    SIGNATURE_HEADER: z
      .string()
      .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
      .default('X-Webhook-Signature'),
    SIGNATURE_TOLERANCE_S: integer(1, 86_400).default(180),
    ALLOWED_IPS: list.pipe(z.array(network)),
    TRUST_PROXY: integer(0, 10).default(0),
    PUBLIC_URL: publicUrl.optional(),
    ALLOWED_CLIENT_IDS: list,
    ALLOWED_BUSINESS_IDS: list,
    ALLOW_UNAUTHENTICATED: flag('false'),
    BODY_LIMIT: size('1kb', '64mb', '256kb'),
    QUARANTINE_LIMIT: size('1mb', '1tb', '1gb'),
    RATE_LIMIT: integer(1, 1_000_000).optional(),
    REJECTION_LIMIT: integer(1, 1_000_000).default(300),
    ADMIN_TOKEN: secret.optional(),
    OIDC_ISSUER: issuer.optional(),
    OIDC_CLIENT_ID: z.string().optional(),
    OIDC_CLIENT_SECRET: secret.optional(),
    OIDC_ROLES_CLAIM: z.string().default('roles'),
    OIDC_SCOPES: scopes,
    OIDC_ROLES_MAP: rolesMap.optional(),
    RETENTION: retention(families.map(({ name }) => name)).optional(),
    ERASURE_KEEP: keep,
    ERASURE_KEEPS_TOTALS: flag('true'),
    METRICS_PORT: integer(0, 65_535).optional(),
    METRICS_TOKEN: secret.optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: webAddress('http://127.0.0.1:4318').optional(),
    OTEL_EXPORTER_OTLP_HEADERS: pairs.optional(),
    OTEL_SERVICE_NAME: z.string().default('webhook-receiver'),
    OTEL_RESOURCE_ATTRIBUTES: pairs.optional(),
    OTEL_TRACES_SAMPLER_ARG: z.coerce
      .number('must be a share from 0 to 1')
      .min(0, 'must be at least 0')
      .max(1, 'must be at most 1')
      .default(0.01),
    ALERT_WEBHOOK_URL: webAddress('https://hooks.slack.com/services/…').optional(),
    ALERT_EMAIL_TO: list.pipe(z.array(email)),
    ALERT_EMAIL_FROM: email.optional(),
    SMTP_URL: url('smtp://user:password@host:587', /^smtps?:\/\/./)
      .refine((address) => URL.canParse(address), 'must be a URL')
      .optional(),
    ALERT_REJECTIONS_PER_MINUTE: integer(1, 1_000_000).default(20),
    ACCESS_LOG: z.enum(['json'], 'must be json').optional(),
    REPORT_TIMEZONE: timezone.default('Asia/Kolkata'),
    LOG_LEVEL: z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a level of pino')
      .default('info'),
    ...Object.fromEntries(families.map((f) => [f.path.variable, paths.prefault(f.path.default.join(','))])),
  });

import bytes from 'bytes';
import { z } from 'zod';

/** What the configuration needs to know of an event family: where its callbacks arrive. */
export interface FamilyPath {
  name: string;
  path: { variable: string; default: string };
}

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  );

const network = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  'must be addresses or CIDRs, separated by commas, such as 192.0.2.0/24',
);

const flag = z
  .enum(['true', 'false', '1', '0'], 'must be true or false')
  .default('false')
  .transform((text) => text === 'true' || text === '1');

const integer = (min: number, max: number) =>
  z.coerce
    .number(`must be a whole number from ${min} to ${max}`)
    .int(`must be a whole number from ${min} to ${max}`)
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`);

/**
 * An address that every parser reads alike: what a password holds as it is, such as @ or /, is encoded. The
 * password ends at the last @ before a query; with a raw ? in it, at the last @ of what is no URL yet.
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

/** A % that stands for itself is left as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const url = (example: string, pattern: RegExp) =>
  z
    .string()
    .transform(encodeCredentials)
    .refine(
      (address) => pattern.test(address),
      `must be an address such as ${example}; in a password, write % as %25, / as %2F, ? as %3F and # as %23`,
    );

const databaseUrl = url('postgresql://user:password@host:5432/database', /^postgres(ql)?:\/\/./);

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
  .regex(/^\/[\w\-.~/]*$/, 'must start with / and hold only letters, digits and - . _ ~ /')
  .refine((text) => !reserved.includes(text), 'is an address that the service uses itself');

const reserved = ['/', '/healthz', '/readyz', '/metrics', '/console', '/openapi.json'];

// The zone's name in Node's own time zone database.
function nameOfZone(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined; // it knows no such zone
  }
}

// Abbreviations and offsets are read otherwise by PostgreSQL: IST is India to Node and Israel to PostgreSQL, and
// +05:30 lies west of Greenwich there. Names with a slash, and UTC, mean the same to both.
const timezone = z.string().superRefine((name, context) => {
  const known = nameOfZone(name);
  if (known && (name.includes('/') || name === 'UTC')) return;
  const meant = known?.replace('Asia/Calcutta', 'Asia/Kolkata');
  const message = meant?.includes('/')
    ? `must be a full name of the IANA time zone database: ${meant} if that is what ${name} means`
    : 'must be a full name of the IANA time zone database, such as Asia/Kolkata, or UTC';
  context.addIssue({ code: 'custom', message });
});

const size = z
  .string()
  .default('256kb')
  .transform((text, context) => {
    const parsed = bytes.parse(text);
    if (parsed !== null && parsed >= 1024 && parsed <= 64 * 1024 * 1024) return parsed;
    context.addIssue({ code: 'custom', message: 'must be a size from 1kb to 64mb, such as 256kb' });
    return z.NEVER;
  });

/** The variables of the environment, each with its default and its words for what is wrong. */
export const environmentSchema = (families: readonly FamilyPath[]) =>
  z.object({
    NODE_ENV: z.string().optional(),
    HOST: z.string().default('127.0.0.1'),
    PORT: integer(0, 65_535).default(8080),
    DATABASE_URL: databaseUrl.optional(),
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
    ALLOWED_CLIENT_IDS: list,
    ALLOWED_BUSINESS_IDS: list,
    ALLOW_UNAUTHENTICATED: flag,
    BODY_LIMIT: size,
    RATE_LIMIT: integer(1, 1_000_000).optional(),
    REJECTION_LIMIT: integer(1, 1_000_000).default(300),
    ADMIN_TOKEN: z.string().trim().min(16, 'must have at least 16 characters').optional(),
    METRICS_PORT: integer(0, 65_535).optional(),
    REPORT_TIMEZONE: timezone.default('Asia/Kolkata'),
    LOG_LEVEL: z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a level of pino')
      .default('info'),
    ...Object.fromEntries(families.map((f) => [f.path.variable, path.default(f.path.default)])),
  });

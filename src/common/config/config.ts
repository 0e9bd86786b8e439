import { createRequire } from 'node:module';
import { z } from 'zod';
import { findFormer } from './former-variables.ts';
import { alertTimes, limits, times } from './limits.ts';
import { isUnguessable, partsOf } from './value-types.ts';
import {
  client,
  type Environment,
  environmentSchema,
  type FamilyPaths,
  type Variables,
} from './variables.ts';

/** What the variables say, and limits and times that only tests change. */
export type Config = ReturnType<typeof toConfig>;
export type AccessRules = Config['authentication'];

export const takesCallbacks = ({ role }: Pick<Config, 'role'>): boolean =>
  role === 'all' || role === 'receiver';
export const merges = ({ role }: Pick<Config, 'role'>): boolean => role === 'all' || role === 'worker';

/** All faults of the environment, one line each, which starts with the variable's name. */
export class InvalidConfiguration extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`The configuration has ${problems.length === 1 ? 'an error' : `${problems.length} errors`}.`);
    this.name = 'InvalidConfiguration';
    this.problems = problems;
  }
}

const unauthenticated =
  'SIGNING_KEYS or ALLOWED_IPS must be set in production, or EVENTS_PATH, or each ' +
  'of RECEIPTS_PATH, CONSENT_FORMS_PATH and REVIEW_REQUESTS_PATH, and every other path that is set must contain a random ' +
  'token, such as the output of `openssl rand -hex 16`; otherwise anybody can send callbacks. To accept callbacks from ' +
  'anybody, set ALLOW_UNAUTHENTICATED=true';

const noDatabase =
  'DATABASE_URL must be set in production: the embedded PostgreSQL is for a first start and trials. `receiver move` copies its ' +
  'data to a server, see docs/backup.md';

function areOnlyPathsChecked(config: Config): boolean {
  // Lists of clients and businesses are filters: senders write those ids themselves.
  const { signingKeys, allowedIps, allowUnauthenticated } = config.authentication;
  const isOpen = signingKeys.length === 0 && allowedIps.length === 0;
  return config.production && takesCallbacks(config) && isOpen && !allowUnauthenticated;
}

/** @param env an empty value counts as unset. @throws InvalidConfiguration with every error */
export function parseConfig(env: Environment, families: readonly FamilyPaths[]): Config {
  const values = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environmentSchema(families).safeParse(values);
  const issues = parsed.error?.issues ?? [];
  const problems = issues.map(({ path, message }) => `${String(path[0])} ${message}`);
  problems.push(...findFormer(values, families));
  const need = (names: readonly string[], reason: string) => {
    for (const name of names) if (!values[name]) problems.push(`${name} must be set too: ${reason}`);
  };
  const oidc = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];
  if (oidc.some((name) => values[name])) need(oidc, `sign-in by OpenID Connect needs ${oidc.join(', ')}`);
  if (values.NODE_ENV?.toLowerCase() === 'production' && !values.DATABASE_URL) problems.push(noDatabase);
  if (values.ROLE === 'handlers') need(['HANDLERS'], 'ROLE=handlers calls what is in that folder');
  if (values.DIRECT_DATABASE_URL)
    need(['DATABASE_URL'], 'DIRECT_DATABASE_URL is another address of that database');
  if (values.REPORT_DATABASE_URL) need(['DATABASE_URL'], 'REPORT_DATABASE_URL is a standby of that database');
  const login = values.SERVICE_TOKEN ? [] : ['SERVICE_CLIENT_ID', 'SERVICE_CLIENT_SECRET'];
  if (values.RECONCILE)
    need(['SERVICE_BASE_URL', ...login], 'RECONCILE reads the platform, by a login or with SERVICE_TOKEN');
  if (values.ALERT_EMAIL_TO || values.ALERT_EMAIL_FROM || values.SMTP_URL)
    need(
      ['ALERT_EMAIL_TO', 'SMTP_URL'],
      'alerts by e-mail need ALERT_EMAIL_TO and SMTP_URL; ALERT_EMAIL_FROM is optional',
    );
  // Each secret opens one thing.
  const tokens = ['ADMIN_TOKEN', 'METRICS_TOKEN', 'CHANGES_TOKENS', 'SIGNING_KEYS'].map(
    (name) => [name, partsOf(values[name]?.replace(/public:/g, '') ?? '')] as const,
  );
  problems.push(...findRepeated(Object.fromEntries(tokens)));
  const config = parsed.success ? toConfig(parsed.data, families) : undefined;
  if (config?.alerts.email?.from.includes('@') === false)
    need(['ALERT_EMAIL_FROM'], 'it is the sender, and the user of SMTP_URL is no e-mail address');
  if (config) problems.push(...findPathProblems(config, values, families));
  if (!config || problems.length > 0) throw new InvalidConfiguration(problems);
  return { ...config, paths: servedPaths(config, values, families) };
}

function findRepeated(values: Record<string, readonly string[]>): string[] {
  const all = Object.values(values).flat();
  const isRepeated = (value: string) => all.indexOf(value) !== all.lastIndexOf(value);
  const names = Object.keys(values).filter((name) => values[name]!.some(isRepeated));
  return names.length > 0 ? [`${names.join(', ')} must differ from each other`] : [];
}

function findPathProblems(config: Config, env: Environment, families: readonly FamilyPaths[]): string[] {
  const paths = families.map(({ name, path }) => [path.variable ?? name, config.paths[name]!] as const);
  const repeated = findRepeated(Object.fromEntries(paths));
  if (repeated.length > 0) return repeated;
  if (!areOnlyPathsChecked(config)) return [];
  const set = families.filter(({ path }) => path.variable && env[path.variable]);
  const isEnough =
    set.some(({ events }) => events.length === 0) ||
    families.every((family) => !family.path.isBasic || set.includes(family));
  // The platform's documents name these, however long they are.
  const documented = families.flatMap(({ path }) => path.default);
  const areUnguessable = set.every(({ name }) =>
    config.paths[name]!.every((path) => isUnguessable(path) && !documented.includes(path)),
  );
  return isEnough && areUnguessable ? [] : [unauthenticated];
}

/** Where unguessable paths are the only check, families whose path is not set are not served: the documents name theirs. */
function servedPaths(config: Config, env: Environment, families: readonly FamilyPaths[]): Config['paths'] {
  if (!areOnlyPathsChecked(config)) return config.paths;
  return Object.fromEntries(
    families.map(({ name, path }) => [name, path.variable && env[path.variable] ? config.paths[name]! : []]),
  );
}

const userOf = (address: string) => decodeURIComponent(new URL(address).username);

function toConfig(e: Variables, families: readonly FamilyPaths[]) {
  // The schema gives the families' variables no type.
  const paths = e as Record<string, unknown> as Record<string, string[]>;
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = e;
  const { SMTP_URL: smtpUrl, ALERT_EMAIL_TO: to, ALERT_EMAIL_FROM: from } = e;
  return {
    host: e.HOST,
    port: e.PORT,
    role: e.ROLE,
    handlers: e.HANDLERS,
    production: e.NODE_ENV === 'production',
    logLevel: e.LOG_LEVEL,
    databaseUrl: e.DATABASE_URL,
    directDatabaseUrl: e.DIRECT_DATABASE_URL,
    /** A standby that pages, downloads and `receiver sql` read; undefined: they read the primary. */
    reportDatabaseUrl: e.REPORT_DATABASE_URL,
    redisUrl: e.REDIS_URL,
    redisFallback: e.REDIS_FALLBACK,
    queuePrefix: e.QUEUE_PREFIX,
    dataDir: e.DATA_DIR,
    // With a fallback store nobody waits long for PostgreSQL.
    times: e.REDIS_URL && e.REDIS_FALLBACK !== 'off' ? { ...times, databaseMs: 2_000 } : times,
    limits,
    /** The registered paths by family name; an empty list: the family is not served. */
    paths: Object.fromEntries(
      families.map(({ name, path }) => [name, path.variable ? paths[path.variable]! : path.default]),
    ),
    bodyLimitBytes: e.BODY_LIMIT,
    authentication: {
      signingKeys: e.SIGNING_KEYS,
      signatureHeader: e.SIGNATURE_HEADER,
      signatureToleranceS: 180,
      allowedIps: e.ALLOWED_IPS,
      trustProxy: e.TRUST_PROXY,
      allowedClientIds: e.ALLOWED_CLIENT_IDS,
      allowedBusinessIds: e.ALLOWED_BUSINESS_IDS,
      allowUnauthenticated: e.ALLOW_UNAUTHENTICATED,
    },
    publicUrl: e.PUBLIC_URL,
    adminToken: e.ADMIN_TOKEN,
    metricsToken: e.METRICS_TOKEN,
    /** Without a map the values of the claims are roles. */
    oidc:
      issuer && clientId && clientSecret
        ? { issuer, clientId, clientSecret, rolesMap: e.OIDC_ROLES_MAP }
        : undefined,
    /** How long things are kept, in milliseconds: by family name, `quarantine`, `access_log`; absent: forever. */
    retention: e.RETENTION,
    /** How long erased data is withheld, from its receipt; 0: it is destroyed at once. */
    erasure: { keepMs: e.ERASURE_KEEP },
    alerts: {
      webhookUrl: e.ALERT_WEBHOOK_URL,
      email: smtpUrl && to.length > 0 ? { to, from: from ?? userOf(smtpUrl), smtpUrl } : undefined,
      ...alertTimes,
    },
    platform: z.object(client).parse(e),
    reconcile: e.RECONCILE ? { days: e.RECONCILE } : undefined,
    /** The feed of changes; undefined: off. A public token reads no personal columns. */
    changes: e.CHANGES_TOKENS.length > 0 ? { tokens: e.CHANGES_TOKENS } : undefined,
    reportTimezone: e.REPORT_TIMEZONE,
    /** Limits of the console's downloads. The patients of all rows are in one entry of the access log. */
    downloads: { stalledMs: 30_000, totalMs: 15 * 60_000, maxRows: 500_000 },
  };
}

export const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

import { createRequire } from 'node:module';
import leven from 'leven';
import type { z } from 'zod';
import { environmentSchema, type FamilyPaths, variableGroups } from './environment-schema.ts';
import { formerVariables } from './former-variables.ts';
import { isUnguessable, partsOf } from './value-types.ts';

export type Environment = Record<string, string | undefined>;

export type Config = ReturnType<typeof toConfig>;

/** Raised with all faults of the environment, one line each, which starts with the variable's name. */
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

/** Whether unguessable paths are the only access check. */
function isKnownByPathsAlone({ production, role, authentication }: Config): boolean {
  // Lists of clients and businesses are filters: senders write those ids themselves.
  const { signingKeys, allowedIps, allowUnauthenticated } = authentication;
  const isOpen = signingKeys.length === 0 && allowedIps.length === 0;
  return production && role !== 'worker' && isOpen && !allowUnauthenticated;
}

/** @throws InvalidConfiguration where a variable of version 1 is set */
export function refuseFormer(env: Environment, families: readonly FamilyPaths[]): void {
  const problems = findFormer(env, families);
  if (problems.length > 0) throw new InvalidConfiguration(problems);
}

/**
 * Parses the environment into a Config.
 *
 * @param env that of readEnvironment; an empty value counts as unset
 * @throws InvalidConfiguration with every error
 */
export function parseConfig(env: Environment, families: readonly FamilyPaths[]): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environmentSchema(families).safeParse(given);
  const issues = parsed.error?.issues ?? [];
  const problems = issues.map(({ path, message }) => `${String(path[0])} ${message}`);
  problems.push(...findFormer(given, families));
  const need = (names: readonly string[], reason: string) => {
    for (const name of names) if (!given[name]) problems.push(`${name} must be set too: ${reason}`);
  };
  const oidc = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];
  if (oidc.some((name) => given[name])) need(oidc, `sign-in by OpenID Connect needs ${oidc.join(', ')}`);
  if (given.NODE_ENV?.toLowerCase() === 'production' && !given.DATABASE_URL) problems.push(noDatabase);
  if (given.DIRECT_DATABASE_URL)
    need(['DATABASE_URL'], 'DIRECT_DATABASE_URL is another address of that database');
  const login = given.SERVICE_TOKEN ? [] : ['SERVICE_CLIENT_ID', 'SERVICE_CLIENT_SECRET'];
  if (given.RECONCILE)
    need(['SERVICE_BASE_URL', ...login], 'RECONCILE reads the platform, by a login or with SERVICE_TOKEN');
  if (given.ALERT_EMAIL_TO || given.ALERT_EMAIL_FROM || given.SMTP_URL)
    need(
      ['ALERT_EMAIL_TO', 'SMTP_URL'],
      'alerts by e-mail need ALERT_EMAIL_TO and SMTP_URL; ALERT_EMAIL_FROM is optional',
    );
  // Each secret opens one thing.
  const tokens = ['ADMIN_TOKEN', 'METRICS_TOKEN', 'CHANGES_TOKENS', 'SIGNING_KEYS'].map(
    (name) => [name, partsOf(given[name]?.replace(/public:/g, '') ?? '')] as const,
  );
  problems.push(...findRepeated(Object.fromEntries(tokens)));
  const config = parsed.success ? toConfig(parsed.data, families) : undefined;
  if (config?.alerts.email?.from.includes('@') === false)
    need(['ALERT_EMAIL_FROM'], 'it is the sender, and the user of SMTP_URL is no e-mail address');
  if (config) problems.push(...findPathProblems(config, given, families));
  if (!config || problems.length > 0) throw new InvalidConfiguration(problems);
  return { ...config, paths: servedPaths(config, given, families) };
}

/** Names with a value that is another's too, or twice their own. */
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
  if (!isKnownByPathsAlone(config)) return [];
  const set = families.filter(({ path }) => path.variable && env[path.variable]);
  const isEnough =
    set.some(({ events }) => events.length === 0) ||
    families.every((family) => !family.path.isBasic || set.includes(family));
  // What the platform's documents name is known to everybody, however long it is.
  const documented = families.flatMap(({ path }) => path.default);
  const areUnguessable = set.every(({ name }) =>
    config.paths[name]!.every((path) => isUnguessable(path) && !documented.includes(path)),
  );
  return isEnough && areUnguessable ? [] : [unauthenticated];
}

/**
 * Where only unguessable paths tell legitimate senders, a family whose path is not set is not served, because its
 * documented path is known to everybody.
 */
function servedPaths(config: Config, env: Environment, families: readonly FamilyPaths[]): Config['paths'] {
  if (!isKnownByPathsAlone(config)) return config.paths;
  return Object.fromEntries(
    families.map(({ name, path }) => [name, path.variable && env[path.variable] ? config.paths[name]! : []]),
  );
}

const userOf = (address: string) => decodeURIComponent(new URL(address).username);

/**
 * The configuration of valid variables, which `environment-schema.ts` describes. Limits and times that no variable sets are
 * part of it, so that a test can choose others.
 */
export function toConfig(e: z.infer<ReturnType<typeof environmentSchema>>, families: readonly FamilyPaths[]) {
  const variables = e as Record<string, unknown>;
  const paths = families.map(
    ({ name, path }) =>
      [name, path.variable ? (variables[path.variable] as readonly string[]) : path.default] as const,
  );
  return {
    host: e.HOST,
    port: e.PORT,
    role: e.ROLE,
    production: e.NODE_ENV === 'production',
    logLevel: e.LOG_LEVEL,
    databaseUrl: e.DATABASE_URL,
    directDatabaseUrl: e.DIRECT_DATABASE_URL,
    redisUrl: e.REDIS_URL,
    redisFallback: e.REDIS_FALLBACK,
    queuePrefix: e.QUEUE_PREFIX,
    dataDir: e.DATA_DIR,
    timeLimits: timeLimits(e.REDIS_URL !== undefined && e.REDIS_FALLBACK !== 'off'),
    /** The registered paths by family name; none: the family is not served. */
    paths: Object.fromEntries(paths),
    bodyLimitBytes: e.BODY_LIMIT,
    limits: {
      /** Failed access checks of an address, after which it gets 429. */
      rejectionsPerMinute: 300,
      connections: 2_000,
      /** Time limit for a request to arrive. */
      requestMs: 15_000,
      // The client side has to close an idle connection first. Proxies of Google Cloud do after 600 s, those of Cloudflare after 900 s.
      keepAliveMs: 920_000,
    },
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
    oidc:
      e.OIDC_ISSUER && e.OIDC_CLIENT_ID && e.OIDC_CLIENT_SECRET
        ? {
            issuer: e.OIDC_ISSUER,
            clientId: e.OIDC_CLIENT_ID,
            clientSecret: e.OIDC_CLIENT_SECRET,
            /** The roles of the values of the claim, of e-mail addresses and of domains; undefined: values are roles. */
            rolesMap: e.OIDC_ROLES_MAP,
          }
        : undefined,
    /** How long things are kept, in milliseconds: by family name, `quarantine`, `access_log`; absent: forever. */
    retention: e.RETENTION,
    erasure: {
      /** How long erased data is withheld, from its receipt; 0: it is destroyed at once. */
      keepMs: e.ERASURE_KEEP,
    },
    /** How long the stores' figures are cached for /metrics. */
    metricsCacheMs: 5_000,
    alerts: {
      webhookUrl: e.ALERT_WEBHOOK_URL,
      email:
        e.SMTP_URL && e.ALERT_EMAIL_TO.length > 0
          ? { to: e.ALERT_EMAIL_TO, from: e.ALERT_EMAIL_FROM ?? userOf(e.SMTP_URL), smtpUrl: e.SMTP_URL }
          : undefined,
      /** How long a fault must last before it is sent. */
      afterMs: 50_000,
      /** The same of an outage of PostgreSQL. */
      outageMs: 120_000,
      /** How long a fault must be over before its end is sent. */
      settledMs: 300_000,
      /** Between two reminders. */
      repeatMs: 86_400_000,
    },
    /** What the client reads, see src/client/settings.ts. */
    platform: {
      SERVICE_BASE_URL: e.SERVICE_BASE_URL,
      SERVICE_TOKEN: e.SERVICE_TOKEN,
      SERVICE_CLIENT_ID: e.SERVICE_CLIENT_ID,
      SERVICE_CLIENT_SECRET: e.SERVICE_CLIENT_SECRET,
      SERVICE_IDENTIFIER_FIELD: e.SERVICE_IDENTIFIER_FIELD,
    },
    reconcile: e.RECONCILE
      ? {
          /** How many days back. */
          days: e.RECONCILE,
        }
      : undefined,
    /** The feed of changes; undefined: off. */
    changes: e.CHANGES_TOKENS.length > 0 ? { tokens: e.CHANGES_TOKENS } : undefined,
    reportTimezone: e.REPORT_TIMEZONE,
    /** Limits of the console's downloads: without progress, in total, and of rows, whose patients are in one entry of the access log. */
    downloads: { stalledMs: 30_000, totalMs: 15 * 60_000, maxRows: 500_000 },
    /** How long a stop waits before it closes idle connections. */
    drainMs: 2_000,
  };
}

const unknownIn = (env: Environment, families: readonly FamilyPaths[]) => {
  const known = variableGroups(families).flatMap(({ variables }) => Object.keys(variables));
  return { known, names: Object.keys(env).filter((name) => env[name] && !known.includes(name)) };
};

/** The variables of version 1 that are set, each with what to use instead. */
export const findFormer = (env: Environment, families: readonly FamilyPaths[]): string[] =>
  unknownIn(env, families).names.flatMap((name) =>
    Object.hasOwn(formerVariables, name) ? [`${name} is no variable any more: ${formerVariables[name]}`] : [],
  );

/** The variables that are none of ours and spelt nearly like one. */
export function findMisspelt(env: Environment, families: readonly FamilyPaths[]): string[] {
  const { known, names } = unknownIn(env, families);
  return names.flatMap((name) => {
    const meant = known.find((one) => leven(name.toUpperCase(), one) <= (one.length > 8 ? 2 : 1));
    return meant && !Object.hasOwn(formerVariables, name)
      ? [`${name} is no variable of the receiver: did you mean ${meant}?`]
      : [];
  });
}

/** Time limits of the stores, in ms: what takes longer is an outage. */
export interface TimeLimits {
  /** The limit of a commit, a connection and a probe of PostgreSQL. */
  databaseMs: number;
  /** The limit of a commit in Redis. A request waits for both stores at most. */
  redisMs: number;
  /** The limit of each check of `/readyz`. */
  readinessMs: number;
}

/** @param hasFallback whether Redis can take a callback: then nobody waits long for PostgreSQL */
export const timeLimits = (hasFallback = false): TimeLimits => ({
  databaseMs: hasFallback ? 2_000 : 10_000,
  redisMs: 1_300,
  readinessMs: 5_000,
});

/** The version of the receiver. */
export const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

import type { z } from 'zod';
import { environmentSchema, type FamilyPaths } from './environment-schema.ts';
import { clientVariables, findMisspelt } from './misspelt-variables.ts';
import { isUnguessable } from './unguessable.ts';

/** Environment variables by their names. */
export type Environment = Record<string, string | undefined>;

/** The service's configuration, see `parseConfig`. */
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
  'SIGNING_KEYS, ALLOWED_IPS, ALLOWED_CLIENT_IDS or ALLOWED_BUSINESS_IDS must be set in production, or EVENTS_PATH, or each ' +
  'of RECEIPTS_PATH, CONSENT_FORMS_PATH and REVIEW_REQUESTS_PATH, and every other path that is set must contain a random ' +
  'token, such as the output of `openssl rand -hex 16`; otherwise anybody can send callbacks. To accept callbacks from ' +
  'anybody, set ALLOW_UNAUTHENTICATED=true';

const untrustedSocket =
  'SOCKET needs TRUST_PROXY, the number of proxies in front, such as 1: a connection to a socket file has no address, so ' +
  'that a sender’s address is known from the X-Forwarded-For of the proxy only';

/** Whether nothing but the paths tells legitimate senders. */
function isKnownByPathsAlone({ production, role, authentication }: Config): boolean {
  const { signingKeys, allowedIps, allowedClientIds, allowedBusinessIds, allowUnauthenticated } =
    authentication;
  const lists = [signingKeys, allowedIps, allowedClientIds, allowedBusinessIds];
  const isOpen = lists.every((list) => list.length === 0);
  return production && role !== 'worker' && isOpen && !allowUnauthenticated;
}

/** The variables that are none of ours, but may be meant as one. */
export const misspeltIn = (env: Environment, families: readonly FamilyPaths[]) =>
  findMisspelt(env, [...Object.keys(environmentSchema(families).shape), ...clientVariables]);

/** @throws InvalidConfiguration where a variable is misspelt without doubt */
export function requireSpelling(env: Environment, families: readonly FamilyPaths[]): void {
  const { errors } = misspeltIn(env, families);
  if (errors.length > 0)
    throw new InvalidConfiguration(errors.map(({ name, reason }) => `${name} ${reason}`));
}

/**
 * Parses the environment into a Config.
 *
 * @param env the environment; an empty value counts as unset
 * @param families the event families; each has a variable for its path
 * @throws InvalidConfiguration with every error
 */
export function parseConfig(env: Environment, families: readonly FamilyPaths[]): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environmentSchema(families).safeParse(given);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`);
  problems.push(...misspeltIn(given, families).errors.map(({ name, reason }) => `${name} ${reason}`));
  const oidc = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];
  const missing = oidc.filter((name) => !given[name]);
  if (missing.length > 0 && missing.length < oidc.length) {
    problems.push(
      `${missing.join(', ')} must be set too: sign-in by OpenID Connect needs ${oidc.join(', ')}`,
    );
  }
  if (given.DIRECT_DATABASE_URL && !given.DATABASE_URL) {
    problems.push('DATABASE_URL must be set too: DIRECT_DATABASE_URL is another address of that database');
  }
  if (given.METRICS_TOKEN && given.METRICS_TOKEN.trim() === given.ADMIN_TOKEN?.trim()) {
    problems.push('METRICS_TOKEN must differ from ADMIN_TOKEN: it opens nothing but /metrics');
  }
  const config = parsed.success ? toConfig(parsed.data, families) : undefined;
  if (config?.socket && config.authentication.trustProxy === 0) problems.push(untrustedSocket);
  if (config) problems.push(...findMailProblems(config.alerts, given));
  if (config) problems.push(...findPathProblems(config, given, families));
  if (!config || problems.length > 0) throw new InvalidConfiguration(problems);
  return { ...config, paths: servedPaths(config, given, families) };
}

function findMailProblems({ email }: Config['alerts'], { ALERT_EMAIL_TO, SMTP_URL }: Environment): string[] {
  if (ALERT_EMAIL_TO && !SMTP_URL)
    return ['SMTP_URL must be set too: it is the mail server for ALERT_EMAIL_TO'];
  if (SMTP_URL && !ALERT_EMAIL_TO)
    return ['ALERT_EMAIL_TO must be set too: SMTP_URL is the mail server for it'];
  if (!email || email.from.includes('@')) return [];
  return ['ALERT_EMAIL_FROM must be set too: the user in SMTP_URL is no e-mail address'];
}

/** The user in a URL. */
const userOf = (address: string) => decodeURIComponent(new URL(address).username);

function findPathProblems(config: Config, env: Environment, families: readonly FamilyPaths[]): string[] {
  const all = Object.values(config.paths).flat();
  const repeated = families.filter(({ name }) =>
    config.paths[name]!.some((path) => all.indexOf(path) !== all.lastIndexOf(path)),
  );
  if (repeated.length > 0) {
    return [`${repeated.map(({ path }) => path.variable).join(', ')} must differ from each other`];
  }
  if (!isKnownByPathsAlone(config)) return [];
  const set = families.filter(({ path }) => env[path.variable]);
  const isEnough =
    set.some(({ events }) => events.length === 0) ||
    families.every((family) => !family.path.isBasic || set.includes(family));
  const areUnguessable = set.every(({ name }) => config.paths[name]!.every(isUnguessable));
  return isEnough && areUnguessable ? [] : [unauthenticated];
}

/**
 * Where only unguessable paths tell legitimate senders, a family whose path is not set is not served, because its
 * documented path is known to everybody.
 */
function servedPaths(config: Config, env: Environment, families: readonly FamilyPaths[]): Config['paths'] {
  if (!isKnownByPathsAlone(config)) return config.paths;
  return Object.fromEntries(
    families.map(({ name, path }) => [name, env[path.variable] ? config.paths[name]! : []]),
  );
}

function toConfig(e: z.infer<ReturnType<typeof environmentSchema>>, families: readonly FamilyPaths[]) {
  const variables = e as Record<string, unknown>;
  const paths = families.map(
    ({ name, path }) => [name, variables[path.variable] as readonly string[]] as const,
  );
  return {
    host: e.HOST,
    port: e.PORT,
    /** A socket file to listen on, instead of host and port. */
    socket: e.SOCKET,
    role: e.ROLE,
    production: e.NODE_ENV === 'production',
    logLevel: e.LOG_LEVEL,
    /** PostgreSQL; undefined: the embedded one in `dataDir`. */
    databaseUrl: e.DATABASE_URL,
    /** The schema of the tables. */
    databaseSchema: e.DATABASE_SCHEMA,
    /** The same database without a connection pooler, for migrations and for the queue; undefined: `databaseUrl`. */
    directDatabaseUrl: e.DIRECT_DATABASE_URL,
    /** The most connections of this process to PostgreSQL. */
    databaseConnections: e.DATABASE_CONNECTIONS,
    /** Redis for the queue; undefined: the queue is in PostgreSQL. */
    redisUrl: e.REDIS_URL,
    /** Prefix of the queue's keys, different for each deployment on a Redis. */
    queuePrefix: e.QUEUE_PREFIX,
    dataDir: e.DATA_DIR,
    /** The registered paths by family name; none: the family is not served. */
    paths: Object.fromEntries(paths),
    bodyLimitBytes: e.BODY_LIMIT,
    limits: {
      /** Requests per second and address; undefined: any number. */
      requestsPerSecond: e.RATE_LIMIT,
      /** Rejected requests per minute and address that may be guesses; further ones get a 429. */
      rejectionsPerMinute: e.REJECTION_LIMIT,
      connections: {
        total: 2_000,
        /** From one address, without an accepted callback. */
        perAddress: 500,
        /** Beyond the total, for health checks. */
        forHealth: 50,
        /** Unfinished responses of a connection; further requests on it are ignored, and too many of those close it. */
        pipelined: 8,
        ignored: 64,
      },
      /** Time limit for a request to arrive. */
      requestMs: 15_000,
      // Longer than the usual minute of proxies: the client side has to close idle connections first.
      keepAliveMs: 65_000,
      bodies: {
        /** Memory for large bodies, of all connections together and of those from one address. */
        bytes: 8 * 1024 * 1024,
        bytesPerAddress: 2 * 1024 * 1024,
        /** How fast a large body has to arrive. */
        leastBytesPerS: 16 * 1024,
        /** Bodies up to this size are read at once: the number of connections limits their memory. */
        smallBytes: 16 * 1024,
        /** How many large bodies may wait, and how long. */
        maxWaiting: 500,
        waitMs: 5_000,
      },
    },
    quarantine: {
      /** The most bytes of rejected bodies. */
      bytes: e.QUARANTINE_LIMIT,
      /** The folder of the embedded database, whose bodies take a tenth of the free disk at most; undefined: its disk is not known. */
      dataDir: e.DATABASE_URL ? undefined : e.DATA_DIR,
    } as { bytes: number; dataDir?: string | undefined },
    /** When a page of the console gives up a database that does not respond; an entry of the access log may take a minute. */
    pageTimeoutMs: 65_000,
    /** Limits of the console's downloads: without progress, and in total. */
    downloads: { stalledMs: 30_000, totalMs: 15 * 60_000 },
    authentication: {
      signingKeys: e.SIGNING_KEYS,
      signatureHeader: e.SIGNATURE_HEADER,
      signatureToleranceS: e.SIGNATURE_TOLERANCE_S,
      allowedIps: e.ALLOWED_IPS,
      /** Number of proxies in front; the last trusted one tells the sender's address. */
      trustProxy: e.TRUST_PROXY,
      allowedClientIds: e.ALLOWED_CLIENT_IDS,
      allowedBusinessIds: e.ALLOWED_BUSINESS_IDS,
      allowUnauthenticated: e.ALLOW_UNAUTHENTICATED,
    },
    /** Scheme and host that browsers use; undefined: as each request tells them. */
    publicUrl: e.PUBLIC_URL,
    adminToken: e.ADMIN_TOKEN,
    /** Opens /metrics and nothing else; undefined: the admin token opens it. */
    metricsToken: e.METRICS_TOKEN,
    /** Sign-in to the console by OpenID Connect; undefined: with the admin token only. */
    oidc:
      e.OIDC_ISSUER && e.OIDC_CLIENT_ID && e.OIDC_CLIENT_SECRET
        ? {
            issuer: e.OIDC_ISSUER,
            clientId: e.OIDC_CLIENT_ID,
            clientSecret: e.OIDC_CLIENT_SECRET,
            /** The claim that contains the roles. */
            rolesClaim: e.OIDC_ROLES_CLAIM,
            /** What is asked for, with spaces. */
            scopes: e.OIDC_SCOPES,
            /** The roles of the values of the claim, of e-mail addresses and of domains; undefined: values are roles. */
            rolesMap: e.OIDC_ROLES_MAP,
            /** How long each request to the provider may take. */
            timeoutMs: 10_000,
            /** How long the provider's metadata is used without asking again. */
            discoveryMs: 10 * 60_000,
            /** How often a session's user is checked with the provider, where it gives refresh tokens. */
            recheckMs: 5 * 60_000,
          }
        : undefined,
    /** How long things are kept, in milliseconds: by family name, `bodies`, `quarantine`, `access_log`; absent: forever. */
    retention: e.RETENTION ?? {},
    erasure: {
      /** How long erased data is withheld, from its receipt; 0: it is destroyed at once. */
      keepMs: e.ERASURE_KEEP,
      /** Whether the amounts of erased receipts stay in the totals. */
      keepsTotals: e.ERASURE_KEEPS_TOTALS,
    },
    metrics: {
      /** A second port, for metrics and health only; a worker has no other. */
      port: e.METRICS_PORT,
      /** How long the stores' figures are cached. */
      cacheMs: 5_000,
    },
    /** Traces, and where OTLP over HTTP takes them; undefined: off. */
    tracing: e.OTEL_EXPORTER_OTLP_ENDPOINT
      ? {
          endpoint: e.OTEL_EXPORTER_OTLP_ENDPOINT,
          headers: e.OTEL_EXPORTER_OTLP_HEADERS ?? {},
          serviceName: e.OTEL_SERVICE_NAME,
          resource: e.OTEL_RESOURCE_ATTRIBUTES ?? {},
          /** The share of the deliveries whose traces are exported. */
          ratio: e.OTEL_TRACES_SAMPLER_ARG,
        }
      : undefined,
    /** Where alerts go, and when. */
    alerts: {
      webhookUrl: e.ALERT_WEBHOOK_URL,
      email:
        e.SMTP_URL && e.ALERT_EMAIL_TO.length > 0
          ? { to: e.ALERT_EMAIL_TO, from: e.ALERT_EMAIL_FROM ?? userOf(e.SMTP_URL), smtpUrl: e.SMTP_URL }
          : undefined,
      /** More rejected requests than these, over some minutes, are an alert. */
      rejectionsPerMinute: e.ALERT_REJECTIONS_PER_MINUTE,
      everyMs: 60_000,
      /** How long a store must be unavailable. */
      outageMs: 2 * 60_000,
      /** How long an alert must be over before its end is sent. */
      settledMs: 5 * 60_000,
    },
    /** Whether each HTTP request is a line of the output. */
    requestLog: e.ACCESS_LOG !== undefined,
    /** IANA time zone of the reports' days. */
    reportTimezone: e.REPORT_TIMEZONE,
    /** Interval of the sweep for deliveries without a job, and their minimum age. */
    sweep: { everyMs: 2_000, olderThanMs: 5_000 },
    /** How long a stop waits before it closes idle connections. */
    drainMs: 2_000,
  };
}

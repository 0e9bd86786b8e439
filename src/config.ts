import type { z } from 'zod';
import { environmentSchema, type FamilyPath } from './environment-schema.ts';
import { isUnguessable } from './unguessable.ts';

/** Environment variables by their names. */
export type Environment = Record<string, string | undefined>;

export type Role = 'all' | 'receiver' | 'worker';

export interface Config {
  host: string;
  port: number;
  role: Role;
  production: boolean;
  logLevel: string;
  /** PostgreSQL; undefined: the embedded one in `dataDir`. */
  databaseUrl: string | undefined;
  /** Redis for the queue; undefined: the queue is in PostgreSQL. */
  redisUrl: string | undefined;
  /** Prefix of the queue's keys, different for each deployment on a Redis. */
  queuePrefix: string;
  dataDir: string;
  /** The registered paths by family name. */
  paths: Record<string, string>;
  bodyLimitBytes: number;
  limits: {
    /** Requests per second and address; undefined: any number. */
    requestsPerSecond: number | undefined;
    /** Rejected requests per minute and address that may be guesses; further ones get a 429. */
    rejectionsPerMinute: number;
    connections: number;
    /** Time limit for a request to arrive. */
    requestMs: number;
    /** Idle timeout of a connection. */
    keepAliveMs: number;
    bodies: {
      /** Memory for large bodies, of all connections together. */
      bytes: number;
      /** Bodies up to this size are read at once: the number of connections limits their memory. */
      smallBytes: number;
      /** How many large bodies may wait, and how long. */
      maxWaiting: number;
      waitMs: number;
    };
  };
  quarantine: { rows: number; bytes: number };
  /** Limits of the console's downloads: without progress, and in total. */
  downloads: { stalledMs: number; totalMs: number };
  authentication: {
    signingKeys: string[];
    signatureHeader: string;
    signatureToleranceS: number;
    allowedIps: string[];
    /** Number of proxies in front; the last trusted one tells the sender's address. */
    trustProxy: number;
    allowedClientIds: string[];
    allowedBusinessIds: string[];
    allowUnauthenticated: boolean;
  };
  adminToken: string | undefined;
  metrics: {
    /** A second port, for metrics and health only; a worker has no other. */
    port: number | undefined;
    /** How long the stores' figures are cached. */
    cacheMs: number;
  };
  /** IANA time zone of the reports' days. */
  reportTimezone: string;
  /** Interval of the sweep for deliveries without a job, and their minimum age. */
  sweep: { everyMs: number; olderThanMs: number };
  /** How long a stop waits before it closes idle connections. */
  drainMs: number;
}

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
  'SIGNING_KEYS, ALLOWED_IPS, ALLOWED_CLIENT_IDS or ALLOWED_BUSINESS_IDS must be set in production, or each of the ' +
  'three paths must contain a random token, such as the output of `openssl rand -hex 16`; otherwise anybody can send ' +
  'callbacks. To accept callbacks from anybody, set ALLOW_UNAUTHENTICATED=true';

type AccessSettings = Pick<
  z.infer<ReturnType<typeof environmentSchema>>,
  'NODE_ENV' | 'ROLE' | 'SIGNING_KEYS' | 'ALLOWED_IPS' | 'ALLOWED_CLIENT_IDS' | 'ALLOWED_BUSINESS_IDS'
>;

function isUnauthenticated(env: AccessSettings, paths: Record<string, string>): boolean {
  if (env.NODE_ENV !== 'production' || env.ROLE === 'worker') return false;
  const lists = [env.SIGNING_KEYS, env.ALLOWED_IPS, env.ALLOWED_CLIENT_IDS, env.ALLOWED_BUSINESS_IDS];
  return lists.every((list) => list.length === 0) && !Object.values(paths).every(isUnguessable);
}

/**
 * Parses the environment into a Config.
 *
 * @param env the environment; an empty value counts as unset
 * @param families the event families; each has a variable for its path
 * @throws InvalidConfiguration with every error
 */
export function parseConfig(env: Environment, families: readonly FamilyPath[]): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environmentSchema(families).safeParse(given);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  const paths = Object.fromEntries(families.map((f) => [f.name, given[f.path.variable] ?? f.path.default]));
  if (new Set(Object.values(paths)).size < families.length) {
    problems.push(`${families.map((f) => f.path.variable).join(', ')} must differ from each other`);
  }
  if (parsed.success && !parsed.data.ALLOW_UNAUTHENTICATED && isUnauthenticated(parsed.data, paths)) {
    problems.push(unauthenticated);
  }
  if (!parsed.success || problems.length > 0) throw new InvalidConfiguration(problems);
  const e = parsed.data;
  return {
    host: e.HOST,
    port: e.PORT,
    role: e.ROLE,
    production: e.NODE_ENV === 'production',
    logLevel: e.LOG_LEVEL,
    databaseUrl: e.DATABASE_URL,
    redisUrl: e.REDIS_URL,
    queuePrefix: e.QUEUE_PREFIX,
    dataDir: e.DATA_DIR,
    paths,
    bodyLimitBytes: e.BODY_LIMIT,
    limits: {
      requestsPerSecond: e.RATE_LIMIT,
      rejectionsPerMinute: e.REJECTION_LIMIT,
      connections: 2_000,
      requestMs: 15_000,
      // Longer than the usual minute of proxies: the client side has to close idle connections first.
      keepAliveMs: 65_000,
      bodies: { bytes: 8 * 1024 * 1024, smallBytes: 16 * 1024, maxWaiting: 500, waitMs: 5_000 },
    },
    quarantine: { rows: 10_000, bytes: 64 * 1024 * 1024 },
    downloads: { stalledMs: 30_000, totalMs: 15 * 60_000 },
    authentication: {
      signingKeys: e.SIGNING_KEYS,
      signatureHeader: e.SIGNATURE_HEADER,
      signatureToleranceS: e.SIGNATURE_TOLERANCE_S,
      allowedIps: e.ALLOWED_IPS,
      trustProxy: e.TRUST_PROXY,
      allowedClientIds: e.ALLOWED_CLIENT_IDS,
      allowedBusinessIds: e.ALLOWED_BUSINESS_IDS,
      allowUnauthenticated: e.ALLOW_UNAUTHENTICATED,
    },
    adminToken: e.ADMIN_TOKEN,
    metrics: { port: e.METRICS_PORT, cacheMs: 5_000 },
    reportTimezone: e.REPORT_TIMEZONE,
    sweep: { everyMs: 2_000, olderThanMs: 5_000 },
    drainMs: 2_000,
  };
}

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
  /** PostgreSQL; undefined: an embedded one under `dataDir`. */
  databaseUrl: string | undefined;
  /** Redis for the queue; undefined: the queue lives in PostgreSQL. */
  redisUrl: string | undefined;
  /** What the names of the queue's keys begin with: it keeps two deployments on one Redis apart. */
  queuePrefix: string;
  dataDir: string;
  /** The registered path of each family, by the family's name. */
  paths: Record<string, string>;
  bodyLimitBytes: number;
  limits: {
    /** Requests per second and address; undefined: any number. */
    requestsPerSecond: number | undefined;
    /** Rejected requests per minute and address that may be guesses; further ones get a 429. */
    rejectionsPerMinute: number;
    connections: number;
    /** How long a sender may take for its request. */
    requestMs: number;
    /** How long a connection may stay open without a request. */
    keepAliveMs: number;
    bodies: {
      /** How many bytes of large bodies may be in memory at once, of all connections together. */
      bytes: number;
      /** Up to this many bytes a body is let in at once: connections bound how many of those there are. */
      smallBytes: number;
      /** How many large ones may wait for their turn, and for how long. */
      maxWaiting: number;
      waitMs: number;
    };
  };
  quarantine: { rows: number; bytes: number };
  /** How long the console's downloads may take, and their readers take nothing. */
  downloads: { stalledMs: number; totalMs: number };
  authentication: {
    signingKeys: string[];
    signatureHeader: string;
    signatureToleranceS: number;
    allowedIps: string[];
    /** How many proxies stand in front; the address is taken from the last one that is trusted. */
    trustProxy: number;
    allowedClientIds: string[];
    allowedBusinessIds: string[];
    allowUnauthenticated: boolean;
  };
  adminToken: string | undefined;
  metrics: {
    /** A port of their own, besides the receiver's: a worker has no other. */
    port: number | undefined;
    /** How long a scrape's figures of the stores hold. */
    cacheMs: number;
  };
  /** The time zone of the reports' days, of the IANA database. */
  reportTimezone: string;
  /** How often and how late deliveries that no job carries are looked for. */
  sweep: { everyMs: number; olderThanMs: number };
  /** How long a stop waits for senders to leave before it closes connections that say nothing. */
  drainMs: number;
}

/** Raised with every fault of the environment at once, a line each that starts with the variable's name. */
export class InvalidConfiguration extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`The configuration has ${problems.length === 1 ? 'an error' : `${problems.length} errors`}.`);
    this.name = 'InvalidConfiguration';
    this.problems = problems;
  }
}

const openInProduction =
  'SIGNING_KEYS, ALLOWED_IPS, ALLOWED_CLIENT_IDS or ALLOWED_BUSINESS_IDS must be set in production, or all three ' +
  'paths must hold a part that nobody can guess, such as the output of `openssl rand -hex 16` (words, dates and ' +
  'versions can be guessed); else anybody could send callbacks. ' +
  'To take them from anybody all the same, set ALLOW_UNAUTHENTICATED=true';

type Door = Pick<
  z.infer<ReturnType<typeof environmentSchema>>,
  'NODE_ENV' | 'ROLE' | 'SIGNING_KEYS' | 'ALLOWED_IPS' | 'ALLOWED_CLIENT_IDS' | 'ALLOWED_BUSINESS_IDS'
>;

function isOpenInProduction(env: Door, paths: Record<string, string>): boolean {
  if (env.NODE_ENV !== 'production' || env.ROLE === 'worker') return false;
  const lists = [env.SIGNING_KEYS, env.ALLOWED_IPS, env.ALLOWED_CLIENT_IDS, env.ALLOWED_BUSINESS_IDS];
  return lists.every((list) => list.length === 0) && !Object.values(paths).every(isUnguessable);
}

/**
 * Parses the environment into a Config.
 *
 * @param env the environment; an empty value counts as unset
 * @param families the event families, each of which brings the variable of its path
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
  if (parsed.success && !parsed.data.ALLOW_UNAUTHENTICATED && isOpenInProduction(parsed.data, paths)) {
    problems.push(openInProduction);
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
      // Longer than the minute for which proxies keep connections: the side that sends must be the one that closes.
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

import type { z } from 'zod';
import { timeLimits } from '../common/time-limits.ts';
import type { environmentSchema, FamilyPaths } from './environment-schema.ts';

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
    },
    /** What the client reads, see src/client/commands/settings.ts. */
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
    reportCurrency: 'INR',
    /** Limits of the console's downloads: without progress, in total, and of rows, whose patients are in one entry of the access log. */
    downloads: { stalledMs: 30_000, totalMs: 15 * 60_000, maxRows: 500_000 },
    /** How long a stop waits before it closes idle connections. */
    drainMs: 2_000,
  };
}

import type { z } from 'zod';
import type { environmentSchema, FamilyPaths } from './environment-schema.ts';
import { fixed } from './limits.ts';

/** The user in a URL. */
const userOf = (address: string) => decodeURIComponent(new URL(address).username);

/** The configuration of valid variables, with the limits that none of them sets. */
export function toConfig(e: z.infer<ReturnType<typeof environmentSchema>>, families: readonly FamilyPaths[]) {
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
      ...fixed.http,
    },
    quarantine: {
      /** The most bytes of rejected bodies. */
      bytes: e.QUARANTINE_LIMIT,
      /** The folder of the embedded database, whose bodies take a tenth of the free disk at most; undefined: its disk is not known. */
      dataDir: e.DATABASE_URL ? undefined : e.DATA_DIR,
    } as { bytes: number; dataDir?: string | undefined },
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
            ...fixed.oidc,
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
      ...fixed.metrics,
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
      ...fixed.alerts,
    },
    /** Whether each HTTP request is a line of the output. */
    requestLog: e.REQUEST_LOG !== undefined,
    /** IANA time zone of the reports' days. */
    reportTimezone: e.REPORT_TIMEZONE,
    ...fixed.service,
  };
}

import type { z } from 'zod';
import type { environmentSchema, FamilyPaths } from './environment-schema.ts';
import { fixed } from './limits.ts';

/** The user in a URL. */
const userOf = (address: string) => decodeURIComponent(new URL(address).username);

/** The configuration of valid variables, which `environment-schema.ts` describes, with the limits that none of them sets. */
export function toConfig(e: z.infer<ReturnType<typeof environmentSchema>>, families: readonly FamilyPaths[]) {
  const variables = e as Record<string, unknown>;
  const paths = families.map(
    ({ name, path }) => [name, variables[path.variable] as readonly string[]] as const,
  );
  return {
    host: e.HOST,
    port: e.PORT,
    socket: e.SOCKET,
    role: e.ROLE,
    production: e.NODE_ENV === 'production',
    logLevel: e.LOG_LEVEL,
    databaseUrl: e.DATABASE_URL,
    databaseSchema: e.DATABASE_SCHEMA,
    directDatabaseUrl: e.DIRECT_DATABASE_URL,
    databaseConnections: e.DATABASE_CONNECTIONS,
    redisUrl: e.REDIS_URL,
    queuePrefix: e.QUEUE_PREFIX,
    dataDir: e.DATA_DIR,
    /** The registered paths by family name; none: the family is not served. */
    paths: Object.fromEntries(paths),
    bodyLimitBytes: e.BODY_LIMIT,
    limits: {
      requestsPerSecond: e.RATE_LIMIT,
      rejectionsPerMinute: e.REJECTION_LIMIT,
      ...fixed.http,
    },
    quarantine: {
      bytes: e.QUARANTINE_LIMIT,
      /** The folder of the embedded database, whose bodies take a tenth of the free disk at most; undefined: its disk is not known. */
      dataDir: e.DATABASE_URL ? undefined : e.DATA_DIR,
    } as { bytes: number; dataDir?: string | undefined },
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
    publicUrl: e.PUBLIC_URL,
    adminToken: e.ADMIN_TOKEN,
    metricsToken: e.METRICS_TOKEN,
    oidc:
      e.OIDC_ISSUER && e.OIDC_CLIENT_ID && e.OIDC_CLIENT_SECRET
        ? {
            issuer: e.OIDC_ISSUER,
            clientId: e.OIDC_CLIENT_ID,
            clientSecret: e.OIDC_CLIENT_SECRET,
            rolesClaim: e.OIDC_ROLES_CLAIM,
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
      keepsTotals: e.ERASURE_KEEPS_TOTALS,
    },
    metrics: {
      port: e.METRICS_PORT,
      ...fixed.metrics,
    },
    tracing: e.OTEL_EXPORTER_OTLP_ENDPOINT
      ? {
          endpoint: e.OTEL_EXPORTER_OTLP_ENDPOINT,
          headers: e.OTEL_EXPORTER_OTLP_HEADERS ?? {},
          serviceName: e.OTEL_SERVICE_NAME,
          resource: e.OTEL_RESOURCE_ATTRIBUTES ?? {},
          ratio: e.OTEL_TRACES_SAMPLER_ARG,
        }
      : undefined,
    alerts: {
      webhookUrl: e.ALERT_WEBHOOK_URL,
      email:
        e.SMTP_URL && e.ALERT_EMAIL_TO.length > 0
          ? { to: e.ALERT_EMAIL_TO, from: e.ALERT_EMAIL_FROM ?? userOf(e.SMTP_URL), smtpUrl: e.SMTP_URL }
          : undefined,
      rejectionsPerMinute: e.ALERT_REJECTIONS_PER_MINUTE,
      ...fixed.alerts,
    },
    requestLog: e.REQUEST_LOG !== undefined,
    reportTimezone: e.REPORT_TIMEZONE,
    ...fixed.service,
  };
}

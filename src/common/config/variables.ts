// The schema of each variable, with its default, its error messages and its description in Markdown, with links relative to docs.

import { z } from 'zod';
import * as address from './addresses.ts';
import {
  bodySize,
  changesTokens,
  days,
  flag,
  integer,
  keep,
  list,
  retention,
  rolesMap,
  secret,
  secrets,
  timezone,
} from './value-types.ts';

export type Environment = Record<string, string | undefined>;

export interface FamilyPaths {
  name: string;
  /** None: its path takes every event. */
  events: readonly string[];
  /** Those of `variable`, which has the documented ones as its default. */
  path: { variable?: string; default: readonly string[]; isBasic?: true };
}

const everyEvent =
  'A path that takes every event, also those that no other path takes; it may contain an ' +
  '[unguessable part](security.md#unguessable-paths)';

/** That of every event is the first. */
const pathsOf = (families: readonly FamilyPaths[]): Record<string, z.ZodType> =>
  Object.fromEntries(
    families
      .toSorted((a, b) => Number(b.events.length === 0) - Number(a.events.length === 0))
      .flatMap(({ events, path: { variable, default: paths } }) => {
        if (!variable) return [];
        const schema = address.paths.prefault(paths.join(','));
        if (events.length === 0) return [[variable, schema.describe(everyEvent)]];
        const records = variable.replace(/_PATH$/, '').replaceAll('_', ' ');
        return [[variable, schema.describe(`Paths of ${records.toLowerCase()}`)]];
      }),
  );

/** The client reads these by itself, for its commands and outside of the receiver: `src/client/settings.ts`. */
export const client = {
  SERVICE_BASE_URL: z.string().optional().describe('Base address of the platform’s API'),
  SERVICE_TOKEN: z.string().optional().describe('The token'),
  SERVICE_CLIENT_ID: z
    .string()
    .optional()
    .describe('Instead: the client’s id for a [login](client.md#login)'),
  SERVICE_CLIENT_SECRET: z.string().optional().describe('The secret for it'),
  SERVICE_IDENTIFIER_FIELD: z
    .string()
    .default('svc')
    .describe('Real name of the response field that the interface calls `svc`'),
};

export const variablesOf = (families: readonly FamilyPaths[]) => ({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
  PORT: integer(0, 65_535).default(8080).describe('Port to listen on'),
  ROLE: z
    .enum(['all', 'receiver', 'worker', 'handlers'], 'must be all, receiver, worker or handlers')
    .default('all')
    .describe(
      '`all`, `receiver` (takes callbacks), `worker` (merges them) or `handlers` (calls those of `HANDLERS`)',
    ),
  TRUST_PROXY: integer(0, 10)
    .default(0)
    .describe(
      'Number of [reverse proxies](security.md#reverse-proxy) in front; with `0` behind a proxy, all senders count as one ' +
        'address',
    ),
  ...pathsOf(families),
  FAMILIES: z
    .string()
    .optional()
    .describe(
      'A folder with [families of your own](callbacks.md#families-of-your-own), a module each. Every process needs the same',
    ),

  HANDLERS: z
    .string()
    .optional()
    .describe(
      'A folder with [handlers](handlers.md), functions of your own that are called for changes, a module each. `all` runs them in a ' +
        'process of their own; where there is none, one with `ROLE=handlers` does',
    ),

  NODE_ENV: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['production', 'development', 'test'], 'must be production, development or test, or unset'))
    .optional()
    .describe(
      '`production`: the receiver does not start without `DATABASE_URL`, and unless an access check is set',
    ),
  SIGNING_KEYS: secrets.describe(
    'Keys of [signed callbacks](security.md#signature-scheme), comma-separated, at least 16 characters each; if set, every ' +
      'callback must be signed with one of them',
  ),
  SIGNATURE_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
    .default('X-Webhook-Signature')
    .describe('Header with `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">`'),
  ALLOWED_IPS: list
    .pipe(z.array(address.network))
    .describe('Addresses and CIDRs that callbacks may be sent from, comma-separated'),
  ALLOWED_CLIENT_IDS: list.describe(
    'Accepted values of `client_id`, comma-separated; other callbacks get 403, also those ' +
      '[without one](security.md#access-checks): several events have no client',
  ),
  ALLOWED_BUSINESS_IDS: list.describe(
    'Accepted values of `business_id`, comma-separated; other callbacks get 403, also those without one',
  ),
  ALLOW_UNAUTHENTICATED: flag.describe('`true`: start in production without any access check'),

  DATABASE_URL: address.database
    .optional()
    .describe(
      'PostgreSQL 14 or newer, encoding UTF8, such as `postgresql://user:password@host:5432/database`, see ' +
        '[database.md](database.md). Unset: an embedded PostgreSQL, for a first start and trials',
    ),
  DIRECT_DATABASE_URL: address.database
    .optional()
    .describe(
      'The same database [without a connection pooler](database.md#connection-poolers) such as PgBouncer in transaction ' +
        'mode, for migrations',
    ),
  REPORT_DATABASE_URL: address.database
    .optional()
    .describe(
      'A [standby](database.md#standbys-and-fail-over) of that database, which the console’s pages and downloads and `receiver sql` read. ' +
        'Unset: they read the primary',
    ),
  DATA_DIR: z.string().default('.data').describe('Files of the embedded database'),

  REDIS_URL: address.redis
    .optional()
    .describe(
      'Redis for the queue and the [fallback store](reliability.md#outages): `redis://` or `rediss://`. Unset: workers ask ' +
        'PostgreSQL four times a second, and there is no fallback store',
    ),
  REDIS_FALLBACK: z
    .enum(['checked', 'trusted', 'off'], 'must be checked, trusted or off')
    .default('checked')
    .describe(
      'Whether callbacks are acknowledged from Redis while PostgreSQL is unavailable. `checked`: while its ' +
        '[settings](reliability.md#redis-as-the-fallback-store-required-settings) keep them; `trusted`: whatever its settings, ' +
        'for a [service](reliability.md#managed-services) that keeps its data in other ways; `off`: no',
    ),
  QUEUE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,50}$/, 'must have 1 to 50 letters, digits, - and _')
    .default('receiver')
    .describe(
      'Prefix of the queue’s keys: separates deployments on one Redis; 1 to 50 letters, digits, `-` and `_`',
    ),
  BODY_LIMIT: bodySize.describe(
    'Largest callback body, `1kb` to `64mb`. `abha.hiu_data_push` contains health records and may be larger than the default',
  ),

  RETENTION: retention(families.map(({ name }) => name)).describe(
    'How long [data is kept](privacy.md#retention), by family, and for `quarantine` and `access_log`, such as ' +
      '`receipt=8y,consent_form=5y,review_request=180d,quarantine=90d,access_log=3y`. What it does not name is kept forever',
  ),
  ERASURE_KEEP: keep.describe(
    'How long the originals of [erased data](privacy.md#erasure) are withheld, from their receipt; `0`: they are destroyed at once',
  ),

  PUBLIC_URL: address.publicUrl
    .optional()
    .describe(
      'The [address that browsers use](security.md#reverse-proxy), such as `https://receiver.example.org`: for redirects, ' +
        'cookies, the origin of the console’s forms and the addresses that it prints. No path: the receiver needs its own ' +
        'host name. Unset: as requests and trusted proxies tell',
    ),
  ADMIN_TOKEN: secret
    .optional()
    .describe(
      'Opens the [console](console.md) with all roles; at least 16 characters, such as the output of `openssl rand -hex 32`. ' +
        'Unset, and without OpenID Connect: there is no console. With the embedded database a token is generated, printed once, ' +
        'and stored in `DATA_DIR/admin-token`',
    ),
  OIDC_ISSUER: address.issuer
    .optional()
    .describe(
      'Sign-in by [OpenID Connect](console.md#sign-in): the address of the issuer, such as `https://accounts.example.org`',
    ),
  OIDC_CLIENT_ID: z.string().optional().describe('This client’s id at the issuer'),
  OIDC_CLIENT_SECRET: secret.optional().describe('This client’s secret; at least 16 characters'),
  OIDC_ROLES_MAP: rolesMap
    .optional()
    .describe(
      'Roles of values of the claims `roles` and `groups`, of e-mail addresses and of domains: ' +
        '`privacy=<value>,desk=asha@example.org,viewer=@example.org`; unset: the values are `viewer`, `desk`, `operator` and ' +
        '`privacy` themselves. See [roles of users](console.md#roles-of-users)',
    ),
  REPORT_TIMEZONE: timezone
    .default('Asia/Kolkata')
    .describe(
      'Time zone of days in [reports](reporting.md): a full name such as `Europe/Berlin`, or `UTC`; no abbreviation (`IST` is ' +
        'India to some and Israel to PostgreSQL)',
    ),

  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a level of pino')
    .default('info')
    .describe('`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`'),
  METRICS_TOKEN: secret
    .optional()
    .describe(
      'The bearer token of [`/metrics`](metrics.md#metrics), which opens nothing else; at least 16 characters. Unset: there is ' +
        'no `/metrics`',
    ),

  ALERT_WEBHOOK_URL: address.webhook
    .optional()
    .describe('The address of an incoming webhook of Slack, Mattermost, Rocket.Chat or Google Chat'),
  ALERT_EMAIL_TO: list
    .pipe(z.array(address.email))
    .describe('Addresses for alerts by e-mail, comma-separated'),
  ALERT_EMAIL_FROM: address.email
    .optional()
    .describe('Their sender; unset: the user of `SMTP_URL`, where that is an address'),
  SMTP_URL: address.mailServer
    .optional()
    .describe(
      'The mail server for them, such as `smtp://user:password@host:587`, `smtps://…:465`, or `smtp://host:25` without a login',
    ),
  ...client,
  RECONCILE: days
    .optional()
    .describe(
      'How many days back the daily [reconciliation](reconciliation.md) compares appointments with the platform, such as `7d`; ' +
        'needs `SERVICE_BASE_URL` and a token or a login. Unset: off',
    ),
  CHANGES_TOKENS: changesTokens.describe(
    'Bearer tokens of the [feed of changes](changes.md), comma-separated; one as `public:<token>` reads no personal columns. At ' +
      'least 16 characters each. Unset: `/changes` is not served',
  ),
});

export const environmentSchema = (families: readonly FamilyPaths[]) => z.object(variablesOf(families));

export type Variables = z.infer<ReturnType<typeof environmentSchema>>;

export const variableNames = (families: readonly FamilyPaths[]): string[] =>
  Object.keys(variablesOf(families));

import { findFormer } from './check-names.ts';
import { environmentSchema, type FamilyPaths } from './environment-schema.ts';
import { toConfig } from './to-config.ts';
import { isUnguessable } from './unguessable.ts';

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
 * @param env the environment; an empty value counts as unset
 * @throws InvalidConfiguration with every error
 */
export function parseConfig(env: Environment, families: readonly FamilyPaths[]): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environmentSchema(families).safeParse(given);
  const issues = parsed.error?.issues ?? [];
  const problems = issues.map(({ path, message }) => `${String(path[0])} ${message}`);
  problems.push(...findFormer(given, families));
  const oidc = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];
  const missing = oidc.filter((name) => !given[name]);
  if (missing.length > 0 && missing.length < oidc.length)
    problems.push(
      `${missing.join(', ')} must be set too: sign-in by OpenID Connect needs ${oidc.join(', ')}`,
    );
  if (given.NODE_ENV === 'production' && !given.DATABASE_URL) problems.push(noDatabase);
  if (given.DIRECT_DATABASE_URL && !given.DATABASE_URL) {
    problems.push('DATABASE_URL must be set too: DIRECT_DATABASE_URL is another address of that database');
  }
  if (given.RECONCILE) problems.push(...findPlatformProblems(given));
  if (given.METRICS_TOKEN && given.METRICS_TOKEN.trim() === given.ADMIN_TOKEN?.trim()) {
    problems.push('METRICS_TOKEN must differ from ADMIN_TOKEN: it opens nothing but /metrics');
  }
  const config = parsed.success ? toConfig(parsed.data, families) : undefined;
  if (config) problems.push(...findMailProblems(config.alerts, given));
  if (config) problems.push(...findPathProblems(config, given, families));
  if (!config || problems.length > 0) throw new InvalidConfiguration(problems);
  return { ...config, paths: servedPaths(config, given, families) };
}

/** The client reads these variables, see src/client/commands/settings.ts. */
function findPlatformProblems(env: Environment): string[] {
  const hasToken = env.SERVICE_TOKEN || (env.SERVICE_CLIENT_ID && env.SERVICE_CLIENT_SECRET);
  const missing = [
    ...(env.SERVICE_BASE_URL ? [] : ['SERVICE_BASE_URL']),
    ...(hasToken ? [] : ['SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET (or SERVICE_TOKEN)']),
  ];
  return missing.map((name) => `${name} must be set too: RECONCILE reads appointments from the platform`);
}

function findMailProblems({ email }: Config['alerts'], { ALERT_EMAIL_TO, SMTP_URL }: Environment): string[] {
  if (ALERT_EMAIL_TO && !SMTP_URL)
    return ['SMTP_URL must be set too: it is the mail server for ALERT_EMAIL_TO'];
  if (SMTP_URL && !ALERT_EMAIL_TO)
    return ['ALERT_EMAIL_TO must be set too: SMTP_URL is the mail server for it'];
  if (!email || email.from.includes('@')) return [];
  return ['SMTP_URL must have an e-mail address as its user, such as alerts%40example.org: it is the sender'];
}

function findPathProblems(config: Config, env: Environment, families: readonly FamilyPaths[]): string[] {
  const all = Object.values(config.paths).flat();
  const repeated = families.filter(({ name }) =>
    config.paths[name]!.some((path) => all.indexOf(path) !== all.lastIndexOf(path)),
  );
  if (repeated.length > 0) {
    return [`${repeated.flatMap(({ path }) => path.variable ?? []).join(', ')} must differ from each other`];
  }
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

import { findFormer } from './check-names.ts';
import { environmentSchema, type FamilyPaths } from './environment-schema.ts';
import { partsOf } from './texts.ts';
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

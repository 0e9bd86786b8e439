import type { Server } from 'node:net';
import { startFeed } from '../changes/start-feed.ts';
import { callbackStatuses } from '../common/http-statuses.ts';
import type { Log } from '../common/log.ts';
import { requests } from '../common/metrics.ts';
import { readiness } from '../common/readiness.ts';
import type { Config } from '../config/config.ts';
import { createConsole, createSessions } from '../console/index.ts';
import { type Family, takesEveryEvent } from '../families/index.ts';
import type { Problem } from '../health/problem.ts';
import { type AppDependencies, createApp } from '../http/app.ts';
import { type CallbackDependencies, createCallbackHandler } from '../http/callback-handler.ts';
import { createChanges } from '../http/changes.ts';
import { listen } from '../http/server.ts';
import { testCommand } from '../http/test-callback.ts';
import type { Intake } from '../intake/intake.ts';
import { type Access, configuredChecks } from '../receiver/http/access.ts';
import type { OnStop } from '../receiver/receiver.ts';
import type { Limits } from './open-access.ts';
import type { Stores } from './open-stores.ts';

export type Families = readonly [Family, ...Family[]];

interface Parts extends Required<Pick<AppDependencies, 'admin' | 'metrics' | 'health'>> {
  stores: Stores;
  intake: Intake;
  problems: () => Promise<readonly Problem[]>;
  limits: Limits;
  access: Access;
  onRejected: CallbackDependencies['onRejected'];
  /** A server that listens on the port already. */
  reserved: Server | undefined;
  log: Log;
}

/**
 * Opens the port: callbacks, health, metrics and the console.
 *
 * @returns the address
 */
export async function startReceiver(
  config: Config,
  families: Families,
  parts: Parts,
  onStop: OnStop,
): Promise<string> {
  const { access, health, admin, metrics, reserved, log } = parts;
  const callbacks = createHandlers(config, families, parts);
  report(config, families, access, log);

  const console = openConsole(config, families, parts);
  if (console) onStop(console.close);
  const changes = openChanges(config, families, parts);
  const routes = { callbacks, health, admin, metrics, changes: changes?.handle, console: console?.handle };
  const app = createApp({ ...routes, readinessMs: config.timeLimits.readinessMs, log });
  const server = await listen(app, callbacks, config, { reserved });
  onStop(server.stop);
  // Before the server, which waits for responses in progress.
  if (changes) onStop(changes.stop);
  return server.url;
}

/** The handler of each registered path. */
function createHandlers(config: Config, families: Families, { access, intake, onRejected, log }: Parts) {
  const dependencies = { config, access, intake, onRejected, log };
  // A rate ignores the first sample of a new series, so an alert would miss the first error.
  for (const { name: family } of families) {
    for (const status of callbackStatuses) requests.inc({ family, status }, 0);
  }
  const routes = families.flatMap((family) => config.paths[family.name]!.map((path) => ({ family, path })));
  return new Map(routes.map((route) => [route.path, createCallbackHandler(route, dependencies)]));
}

/** Logs who may send callbacks, and what is not served. */
function report(config: Config, families: Families, access: Access, log: Log): void {
  log.info({ checks: access.describe() }, 'access checks of callbacks');
  const unserved = families.filter(({ name }) => config.paths[name]!.length === 0);
  if (unserved.length === 0) return;
  const names = unserved.map(({ name }) => name);
  log.warn({ families: names }, 'not served at paths of their own: only unguessable paths protect callbacks');
}

/** The feed of changes, where somebody may read it. */
function openChanges(
  { changes, authentication }: Config,
  families: Families,
  { stores, limits, log }: Parts,
) {
  if (!changes) return undefined;
  const { database, circuit } = stores;
  const feed = startFeed(database.db, families, circuit, log);
  const config = { changes, authentication };
  const handle = createChanges({
    config,
    families,
    feed,
    db: database.db,
    attempts: limits.changes,
  });
  return { handle, stop: feed.stop };
}

/** The console, where somebody can sign in. */
function openConsole(
  config: Config,
  families: Families,
  { stores, intake, problems, limits, health, log }: Parts,
) {
  const { adminToken, oidc, paths } = config;
  if (!(adminToken ?? oidc)) return undefined;
  const { connections, database, databaseUrl, circuit, backend } = stores;
  const [testPath] = families.flatMap((family) => (takesEveryEvent(family) ? paths[family.name]! : []));
  return createConsole({
    config,
    databaseUrl,
    connections,
    families,
    attempts: limits.signIns,
    searches: limits.searches,
    sessions: createSessions(database.pool),
    readiness: () => readiness(health, config.timeLimits.readinessMs),
    problems,
    circuit,
    fallback: backend.fallback,
    receiver: {
      checks: configuredChecks(config),
      paths: Object.fromEntries(
        families.flatMap(({ name, path }) => {
          const [first] = path.isBasic ? paths[name]! : [];
          return first ? [[name.replaceAll('_', ' '), first]] : [];
        }),
      ),
      testCommand: testPath ? (origin) => testCommand(config, origin + testPath) : undefined,
    },
    intake,
    log,
  });
}

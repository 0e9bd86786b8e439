import { resolve } from 'node:path';
import type { Command } from 'commander';
import { Kysely, PostgresDialect } from 'kysely';
import { pathsOf } from '../callbacks/families/family.ts';
import { type Config, type Environment, parseConfig } from '../common/config/config.ts';
import { createLog, type Log } from '../common/log.ts';
import { embeddedFolder, hasDatabase } from '../embedded/place.ts';
import { findBindError } from '../embedded/server-process.ts';
import { startEmbeddedPostgres } from '../embedded/start-embedded.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { PortUnavailable } from '../receiver/http/server.ts';
import { type OnStop, type ReceiverState, startReceiver } from '../receiver/receiver.ts';
import { openPool } from '../receiver/store/pools.ts';
import { prepare } from '../receiver/store/prepare.ts';
import type { Tables } from '../receiver/store/tables.ts';
import { createMerge } from '../receiver/worker/merge.ts';
import { features } from './features.ts';
import { loadFamilies } from './load-families.ts';
import { startParts } from './start-parts.ts';
import { startTasks } from './tasks.ts';

/** Connections to PostgreSQL of all that stands beside the path of a callback. */
const connections = 4;

export type Service = Awaited<ReturnType<typeof openService>>;

/** The receiver, as the environment configures it. @throws InvalidConfiguration */
export async function openService(env: Environment) {
  const families = await loadFamilies(env.FAMILIES || undefined);
  const config = parseConfig(env, families.map(pathsOf));
  const openCore = (config: Config, databaseUrl: string, name: string, log: Log, onStop: OnStop): Core => {
    const { databaseMs: connectTimeoutMs } = config.timeLimits;
    const pool = openPool(databaseUrl, log, { name, connections, connectTimeoutMs });
    onStop(() => pool.end());
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    const merge = createMerge({ pool, families, log });
    return { config, families, db, pool, merge, log, features };
  };
  /** A command may share it with the receiver. */
  const openEmbedded = async (log: Log, onStop: OnStop) => {
    const { url, stop } = await startEmbeddedPostgres(embeddedFolder(config.dataDir), log);
    onStop(stop);
    return url;
  };

  /** Makes or updates the tables: of DATABASE_URL, or of the embedded database, which it creates where there is none. */
  const migrate = async (log: Log) => {
    const { stop } = await startParts(async (onStop) => {
      const url = config.directDatabaseUrl ?? config.databaseUrl ?? (await openEmbedded(log, onStop));
      const { databaseMs: connectTimeoutMs } = config.timeLimits;
      const { signal } = new AbortController();
      const { reportTimezone: timezone } = config;
      await prepare({ url, families, timezone, connectTimeoutMs, canWait: false, signal, log });
    }, log);
    await stop();
  };

  /** @param config with a generated admin token, where there is one */
  const start = (config: Config, log: Log, signal: AbortSignal) =>
    startParts(
      async (onStop) => {
        const error = await findBindError(config.port, config.host); // before a database is made
        if (error) throw new PortUnavailable(config, error);
        const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, log, onStop));
        let core = openCore(config, databaseUrl, 'receiver features', log, onStop);
        const routes = (process: ReceiverState) => {
          core = { ...core, process };
          return features.flatMap((feature) => feature.routes?.(core) ?? []);
        };
        const { url, stopServing } = await startReceiver(
          config,
          { databaseUrl, families, log, routes },
          onStop,
        );
        const tasks = features.flatMap((feature) => feature.tasks?.(core) ?? []);
        const own = tasks.filter(({ processes }) => processes || config.role !== 'receiver');
        const endTasks = startTasks(own, core.pool, log);
        // A task may take its time to end.
        onStop(() => Promise.all([stopServing(), endTasks()]));
        return url;
      },
      log,
      signal,
    );

  /** Runs a command on the database: that of DATABASE_URL, or the embedded one. @throws Error where there is none */
  const withCore = async (log: Log, run: (core: Core) => Promise<void>) => {
    if (!config.databaseUrl && !hasDatabase(embeddedFolder(config.dataDir)))
      throw new Error(
        `There is no database in ${resolve(config.dataDir)}. Change to the folder where the receiver was started, or set DATA_DIR or DATABASE_URL`,
      );
    const { stop } = await startParts(async (onStop) => {
      const url = config.databaseUrl ?? (await openEmbedded(log, onStop));
      await run(openCore(config, url, 'receiver command', log, onStop));
    }, log);
    await stop();
  };
  return { config, families, migrate, start, withCore };
}

/** Adds the commands of the features. */
export function addFeatureCommands(program: Command, env: Environment): void {
  const onCore: OnCore =
    (run) =>
    async (...given) => {
      const { config, withCore } = await openService({ LOG_LEVEL: 'warn', ...env });
      await withCore(createLog(config.logLevel), (core) => run(core, ...given));
    };
  for (const { commands } of features) commands?.(program, onCore);
}

/** @returns the address of the embedded database of this process. @throws Error where another process uses it */
async function startEmbedded(config: Config, log: Log, onStop: OnStop): Promise<string> {
  const stopping = new AbortController();
  const starting = startEmbeddedPostgres(embeddedFolder(config.dataDir), log, stopping.signal);
  // Registered before it has started, so that a stop during the start leaves no process behind.
  onStop(async () => {
    stopping.abort();
    await starting.then(
      ({ stop }) => stop(),
      () => {}, // thrown below
    );
  });
  const { url, isOwn } = await starting;
  if (isOwn) return url;
  throw new Error(
    `Another receiver, or a command, uses the embedded database in ${resolve(config.dataDir)}. Stop it, or set DATA_DIR or DATABASE_URL`,
  );
}

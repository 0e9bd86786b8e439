import { resolve } from 'node:path';
import type { Command } from 'commander';
import express from 'express';
import { Kysely, PostgresDialect } from 'kysely';
import { type Family, pathsOf } from '../callbacks/families/family.ts';
import { type Config, parseConfig } from '../common/config/config.ts';
import type { Environment } from '../common/config/variables.ts';
import { createLog, type Log } from '../common/log.ts';
import { embeddedFolder, hasDatabase } from '../embedded/place.ts';
import { findBindError } from '../embedded/server-process.ts';
import { startEmbeddedPostgres } from '../embedded/start-embedded.ts';
import { type Handler, handlerSchema } from '../feed/handler.ts';
import { handlersTask, registerHandlers } from '../feed/handlers.ts';
import { familiesInFeed } from '../feed/read-changes.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { createApp, listen, PortUnavailable } from '../receiver/http/server.ts';
import { type OnStop, type ReceiverState, startReceiver } from '../receiver/receiver.ts';
import { openPool } from '../receiver/store/pools.ts';
import { makeTables, prepare } from '../receiver/store/prepare.ts';
import type { Tables } from '../receiver/store/tables.ts';
import { createMerge } from '../receiver/worker/merge.ts';
import { features } from './features.ts';
import { startHandlersProcess, tellParent } from './handlers-process.ts';
import { loadFamilies } from './load-families.ts';
import { loadModules } from './load-modules.ts';
import { type Parts, startParts } from './start-parts.ts';
import { startTasks } from './tasks.ts';

/** Connections to PostgreSQL of the features, beside those of the path of a callback. */
const connections = 4;

export interface Service {
  config: Config;
  families: readonly Family[];
}

/** @throws InvalidConfiguration */
export async function readService(env: Environment): Promise<Service> {
  const families = await loadFamilies(env.FAMILIES || undefined);
  return { config: parseConfig(env, families.map(pathsOf)), families };
}

/** Makes or updates the tables; it creates the embedded database where there is none. @returns the names of what was made */
export async function migrateService({ config, families }: Service, log: Log): Promise<string[]> {
  const { result, stop } = await startParts(async (onStop) => {
    const databaseUrl = config.databaseUrl ?? (await openEmbedded(config, log, onStop, true));
    return makeTables({ config, databaseUrl, families, log });
  });
  await stop();
  return result;
}

export interface RunningService {
  url: string;
  access: ReceiverState['access'];
}

/** @throws the first error */
export function startService(service: Service, log: Log): Promise<Parts<RunningService>> {
  const { config, families } = service;
  return startParts(async (onStop) => {
    const error = await findBindError(config.port, config.host); // before a database is made
    if (error) throw new PortUnavailable(config, error);
    const databaseUrl = config.databaseUrl ?? (await openEmbedded(config, log, onStop, false));
    const core = openCore(service, 'features', databaseUrl, log, onStop);
    if (config.role === 'handlers') return startHandlers(core, databaseUrl, onStop);
    const routes = (process: ReceiverState) =>
      features.flatMap((feature) => feature.routes?.({ ...core, process }) ?? []);
    const options = { databaseUrl, families, log, routes };
    const { url, state, stopServing } = await startReceiver(config, options, onStop);
    const running = { ...core, process: state };
    const tasks = features
      .flatMap((feature) => feature.tasks?.(running) ?? [])
      .filter(({ processes }) => processes || config.role !== 'receiver');
    const endTasks = startTasks(tasks, core.db, log);
    // A task may take its time to end.
    onStop(() => Promise.all([stopServing(), endTasks()]));
    if (config.role === 'all' && config.handlers)
      onStop(await startHandlersProcess(config, databaseUrl, log));
    return { url, access: state.access };
  });
}

/** A process that does nothing else: what a handler does hurts no callback. */
async function startHandlers(core: Core, databaseUrl: string, onStop: OnStop): Promise<RunningService> {
  const { config, families, db, log } = core;
  const stopping = new AbortController();
  onStop(async () => stopping.abort());
  const define = ['defineHandler', handlerSchema(familiesInFeed(families))] as const;
  const handlers = await loadModules<Handler>('HANDLERS', config.handlers!, define, ({ name }) => [
    `the name ${name}`,
  ]);
  await prepare({ config, databaseUrl, families, signal: stopping.signal, log });
  const server = await listen(express.Router(), createApp([], log), config);
  onStop(server.stop);
  // What changes once it is ready is handed over; while PostgreSQL is away, the task registers them.
  await registerHandlers(core, handlers).catch((err) =>
    log.warn({ err }, 'the handlers are registered later'),
  );
  onStop(startTasks([handlersTask(core, handlers)], db, log));
  tellParent();
  return { url: server.url, access: undefined };
}

export function addFeatureCommands(program: Command, onCore: OnCore): void {
  for (const { commands } of features) commands?.(program, onCore);
}

export const onCoreOf =
  (env: Environment): OnCore =>
  (run) =>
  async (...args) => {
    const service = await readService({ LOG_LEVEL: 'warn', ...env });
    const { config } = service;
    const log = createLog(config.logLevel);
    if (!config.databaseUrl && !hasDatabase(embeddedFolder(config.dataDir)))
      throw new Error(
        `There is no database in ${resolve(config.dataDir)}. Change to the folder where the receiver was started, or set DATA_DIR or DATABASE_URL`,
      );
    const { stop } = await startParts(async (onStop) => {
      const url = config.databaseUrl ?? (await openEmbedded(config, log, onStop, true));
      await run(openCore(service, 'command', url, log, onStop), ...args);
    });
    await stop();
  };

function openCore({ config, families }: Service, part: string, url: string, log: Log, onStop: OnStop): Core {
  const { databaseMs: connectTimeoutMs } = config.times;
  const open = (address: string) => {
    const opened = openPool(address, log, { name: `receiver ${part}`, connections, connectTimeoutMs });
    onStop(() => opened.end());
    return opened;
  };
  const pool = open(url);
  const reports = config.reportDatabaseUrl ? open(config.reportDatabaseUrl) : pool;
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const merge = createMerge({ pool, families, log });
  return { config, families, db, pool, reports, merge, log, features };
}

/** @returns the address of the embedded database. @throws Error where another process uses it and `canShare` is false */
async function openEmbedded({ dataDir }: Config, log: Log, onStop: OnStop, canShare: boolean) {
  const { url, isOwn, stop } = await startEmbeddedPostgres(embeddedFolder(dataDir), log);
  onStop(stop);
  if (isOwn || canShare) return url;
  throw new Error(
    `Another receiver, or a command, uses the embedded database in ${resolve(dataDir)}. Stop it, or set DATA_DIR or DATABASE_URL`,
  );
}

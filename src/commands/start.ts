import { once } from 'node:events';
import type { Server } from 'node:net';
import { type Command, Option } from 'commander';
import { createLog, endLog, type Log } from '../common/log.ts';
import { print } from '../common/output.ts';
import { type Config, type Environment, parseConfig } from '../config/config.ts';
import { families } from '../families/index.ts';
import type { DailyClient } from '../reconcile/daily.ts';
import type { Platform } from '../reconcile/platform.ts';
import { provideAdminToken } from './admin-token.ts';
import { consoleToLog } from './console-to-log.ts';
import { greeting } from './greeting.ts';
import { type Opened, withDatabase } from './with-database.ts';

/** The part of the composition that commands use. */
export interface ServiceModule {
  preparePort: (config: Config) => Promise<Server | undefined>;
  startService: (
    config: Config,
    list: typeof families,
    log: Log,
    options: {
      openPlatform: () => Promise<Platform & DailyClient>;
      reserved: Server | undefined;
      signal: AbortSignal;
    },
  ) => Promise<{ url: string; stop: () => Promise<void> }>;
  /** The new path of a callback, until it is the only one. */
  openNewPath: (env: Environment) => Promise<{
    config: Config;
    migrate: (log: Log) => Promise<void>;
    start: (
      config: Config,
      log: Log,
      options: { reserved: Server | undefined; signal: AbortSignal },
    ) => Promise<{ url: string; stop: () => Promise<void> }>;
  }>;
  /** The platform of SERVICE_BASE_URL. */
  openPlatform: () => Promise<Platform & DailyClient>;
  /** Prepares the tables as a start does. */
  prepareTables: (url: string, config: Config, log: Log) => Promise<{ migrations: string[] }>;
}

const timeoutMs = 20_000;

/**
 * `receiver start`: runs the receiver until SIGTERM, SIGINT, SIGHUP or SIGUSR2; `receiver migrate`: updates the tables of
 * the database, as `start` does.
 *
 * @param load loads the modules that only these need, so that the other commands start faster
 */
export function addStartCommands(
  program: Command,
  env: Environment,
  load: () => Promise<ServiceModule>,
): void {
  program
    .command('start')
    .description('run the receiver (ROLE: all, receiver or worker)')
    .addOption(pathOption())
    .action(async ({ path }: { path: string }) => {
      const newPath = path === 'new' ? await (await load()).openNewPath(env) : undefined;
      const given = newPath?.config ?? parseConfig(env, families);
      const log = createLog(given.logLevel);
      consoleToLog(log);
      // Its disk may be full; the greeting is not worth the service.
      process.stdout.on('error', () => {});
      process.once('uncaughtException', (error) => {
        // Later errors are consequences, and must not cut the log.
        process.on('uncaughtException', () => {});
        log.error({ err: error }, 'unexpected error; the receiver stops');
        void exit(log, 1);
      });
      const signal = abortOnSignal(log);
      try {
        const service = await load();
        await run(given, log, service, signal, newPath?.start);
        log.info('stopped');
        await exit(log, 0);
      } catch (error) {
        if (!signal.aborted) throw error;
        log.error({ err: error }, 'stopped with an error');
        await exit(log, 1);
      }
    });

  program
    .command('migrate')
    .description('update the tables of the database (start does this, too)')
    .addOption(pathOption())
    .action(async ({ path }: { path: string }) => {
      const { prepareTables, openNewPath } = await load();
      if (path === 'new') return (await openNewPath(env)).migrate(createLog('info'));
      const update = async ({ config, url, log }: Opened) => {
        const { migrations } = await prepareTables(config.directDatabaseUrl ?? url, config, log);
        print(migrations.length > 0 ? `Ran ${migrations.join(', ')}.` : 'Nothing to do.');
      };
      await withDatabase(env, update, { create: true });
    });
}

const pathOption = () => new Option('--path <path>').choices(['old', 'new']).default('old').hideHelp();

/** Runs the receiver until the signal is aborted, which may be before it is ready. */
async function run(
  given: Config,
  log: Log,
  service: ServiceModule,
  signal: AbortSignal,
  startNew?: NewPath['start'],
): Promise<void> {
  const reserved = await service.preparePort(given);
  const generated = provideAdminToken(given);
  const config = generated ? { ...given, adminToken: generated.token } : given;
  const start: Start = (log, options) =>
    startNew
      ? startNew(config, log, options)
      : service.startService(config, families, log, { openPlatform: service.openPlatform, ...options });
  await runUntil(signal, config, log, reserved, start, (url) => greeting(url, config, families, generated));
}

type NewPath = Awaited<ReturnType<ServiceModule['openNewPath']>>;
type Start = (
  log: Log,
  options: { reserved: Server | undefined; signal: AbortSignal },
) => ReturnType<NewPath['start']>;

async function runUntil(
  signal: AbortSignal,
  config: Config,
  log: Log,
  reserved: Server | undefined,
  start: Start,
  greet: (url: string) => string,
): Promise<void> {
  const running = await start(log, { reserved, signal }).catch((error) => {
    if (error !== signal.reason) throw error;
  });
  if (!running) return;
  log.info({ role: config.role, url: running.url }, 'ready');
  // In production the paths may be secret, and the output is usually stored.
  if (config.role !== 'worker' && !config.production) process.stdout.write(greet(running.url));
  if (!signal.aborted) await once(signal, 'abort');
  await running.stop();
}

async function exit(log: Log, code: number): Promise<never> {
  await endLog(log);
  process.exit(code);
}

/** Aborted at the first SIGTERM, SIGINT, SIGHUP or SIGUSR2. */
function abortOnSignal(log: Log): AbortSignal {
  const stopping = new AbortController();
  const stop = (signal: string) => {
    if (stopping.signal.aborted) return;
    log.info({ signal }, 'stopping');
    // An unavailable store must not delay the exit: acknowledged deliveries are durable.
    setTimeout(() => {
      log.error({ timeoutMs }, 'stopped after the timeout');
      void exit(log, 1);
    }, timeoutMs).unref();
    stopping.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) process.on(signal, stop);
  return stopping.signal;
}

import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import type { Command } from 'commander';
import { InvalidConfiguration, takesCallbacks } from '../common/config/config.ts';
import type { Environment } from '../common/config/variables.ts';
import { createLog, describeThrown, endLog, type Log, printWithLog } from '../common/log.ts';
import { print } from '../common/terminal.ts';
import { greeting, provideAdminToken } from './greeting.ts';
import { migrateService, type RunningService, readService, type Service, startService } from './service.ts';

const timeoutMs = 20_000;

export function addStartCommands(
  program: Command,
  env: Environment,
  readAgain: () => Promise<Environment>,
): void {
  program
    .command('start')
    .description('run the receiver (ROLE: all, receiver, worker or handlers)')
    .action(async () => {
      const service = await readService(env);
      const log = createLog(service.config.logLevel);
      process.once('uncaughtException', (error) => {
        // Later errors are consequences, and must not cut the log.
        process.on('uncaughtException', () => {});
        const about = service.config.role === 'handlers' ? describeThrown(error) : { err: error };
        log.error(about, 'unexpected error; the receiver stops');
        void exit(1);
      });
      const signal = abortOnSignal(log);
      try {
        await run(service, log, signal, readAgain);
        log.info('stopped');
        await exit(0);
      } catch (error) {
        if (!signal.aborted) throw error;
        log.error({ err: error }, 'stopped with an error');
        await exit(1);
      }
    });

  program
    .command('migrate')
    .description('update the tables of the database (start does this, too)')
    .action(async () => {
      const service = await readService({ LOG_LEVEL: 'warn', ...env });
      const made = await migrateService(service, createLog(service.config.logLevel));
      const isUpToDate = made.length === 0;
      print(isUpToDate ? 'All tables and views are up to date.' : `Made or updated: ${made.join(', ')}.`);
    });
}

/** Until the signal is aborted: before the receiver is ready, it stops once it is. */
async function run(
  service: Service,
  log: Log,
  signal: AbortSignal,
  readAgain: () => Promise<Environment>,
): Promise<void> {
  const { families } = service;
  // Callbacks come first, where cores are few.
  if (service.config.role === 'handlers') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const generated = provideAdminToken(service.config);
  const config = generated ? { ...service.config, adminToken: generated.token } : service.config;
  const { result, stop } = await startService({ config, families }, log);
  const { url, access } = result;
  // A terminal that is closed sends the signal, too: then it is a stop.
  if (!process.stdin.isTTY && !process.stdout.isTTY)
    process.removeAllListeners('SIGHUP').on('SIGHUP', () => void reload(readAgain, access, log));
  log.info({ role: config.role, url }, config.role === 'handlers' ? 'handlers are ready' : 'ready');
  // In production the paths may be secret, and the output is usually stored.
  if (takesCallbacks(config) && !config.production) printWithLog(greeting(url, config, families, generated));
  if (!signal.aborted) await once(signal, 'abort');
  await stop();
}

async function reload(
  readAgain: () => Promise<Environment>,
  access: RunningService['access'],
  log: Log,
): Promise<void> {
  try {
    const { config } = await readService(await readAgain());
    const changed = access?.update(config.authentication) ?? [];
    log.info({ changed }, 'SIGNING_KEYS and ALLOWED_IPS were read again');
  } catch (error) {
    const problems = error instanceof InvalidConfiguration ? error.problems : [(error as Error).message];
    log.error({ problems }, 'SIGNING_KEYS and ALLOWED_IPS stay as they were');
  }
}

async function exit(code: number): Promise<never> {
  await endLog();
  process.exit(code);
}

function abortOnSignal(log: Log): AbortSignal {
  const stopping = new AbortController();
  const stop = (signal: string) => {
    if (stopping.signal.aborted) return;
    log.info({ signal }, 'stopping');
    // An unavailable store must not delay the exit: acknowledged deliveries are durable.
    setTimeout(() => {
      log.error({ timeoutMs }, 'stopped after the timeout');
      void exit(1);
    }, timeoutMs).unref();
    stopping.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) process.on(signal, stop);
  return stopping.signal;
}

import type { Command } from 'commander';
import { parseConfig } from '../config.ts';
import { type Family, families } from '../families/index.ts';
import { createLog, type Log } from '../log.ts';
import { type Service, startService } from '../service.ts';
import { provideAdminToken } from './admin-token.ts';
import { consoleToLog } from './console-to-log.ts';
import type { Environment } from './environment.ts';
import { greeting } from './greeting.ts';

/** Makes the OpenAPI document. */
export type Contract = (options: { families: readonly Family[]; signatureHeader: string }) => Promise<object>;

const patienceMs = 20_000;

/** `receiver start`: runs the service until SIGTERM or SIGINT. */
export function addStartCommand(program: Command, env: Environment, contract: Contract): void {
  program
    .command('start')
    .description('run the service (ROLE: all, receiver or worker)')
    .action(async () => {
      const given = parseConfig(env, families);
      const made = provideAdminToken(given);
      const config = made ? { ...given, adminToken: made.token } : given;
      const log = createLog(config.logLevel);
      consoleToLog(log);
      process.on('uncaughtException', (error) => {
        log.fatal({ err: error }, 'an unforeseen error; the service ends');
        process.exit(1);
      });
      const { signatureHeader } = config.authentication;
      const document = () => contract({ families, signatureHeader });
      const service = await startService(config, families, log, document);
      stopOnSignal(service, log);
      log.info({ role: config.role, url: service.url }, 'ready');
      // In production the paths may hold a secret part, and the output is kept.
      if (service.url && !config.production) {
        process.stdout.write(greeting(service.url, config, families, made));
      } else if (made?.isNew) {
        log.info({ file: made.file }, 'an admin token was made, which opens the console');
      }
    });
}

function stopOnSignal(service: Service, log: Log): void {
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    // A store that is gone must not keep the process: what was acknowledged is safe without it.
    setTimeout(() => {
      log.error({ afterMs: patienceMs }, 'stopped without waiting any longer');
      process.exit(1);
    }, patienceMs).unref();
    try {
      await service.stop();
      log.info('stopped');
      process.exit(0);
    } catch (error) {
      log.error({ err: error }, 'stopped, but not cleanly');
      process.exit(1);
    }
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

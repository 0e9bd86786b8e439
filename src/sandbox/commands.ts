import { once } from 'node:events';
import type { Command } from 'commander';
import { addSendOptions, httpAddress, receiverAddress, type SendFlags, wholeNumber } from './send-options.ts';
import type { SandboxOptions } from './server.ts';
import type { Env } from './urls.ts';

interface SandboxFlags extends SendFlags, Pick<SandboxOptions, 'host' | 'port' | 'slowMs' | 'expiresIn'> {
  readonly token?: string;
  readonly sendTo?: string;
}

/**
 * Adds `send` and `sandbox` to the command line; the receiver's address and signing keys come from `env`. Both end when
 * the signal of `untilEnd` aborts, by default at SIGINT or SIGTERM. Commands import their code when they run, so that
 * the receiver starts faster.
 */
export function addSandboxCommands(program: Command, env: Env, untilEnd = untilInterrupted): void {
  const sending = program
    .command('send')
    .description('send sample callbacks to a receiver, and print a summary')
    .option('--url <address>', "the receiver's base address", httpAddress, receiverAddress(env));
  addSendOptions(sending, { count: 100 }).action((flags: SendFlags & { url: string }, command: Command) =>
    untilEnd(async (signal) => {
      const { send } = await import('./send.ts');
      // Without an address, the receiver of this machine, which may listen on a socket file.
      const isOwn = command.getOptionValueSource('url') === 'default';
      const socket = (isOwn && env.SOCKET) || undefined;
      const summary = await send(command, flags, flags.url, env, signal, socket);
      if (summary.unacknowledged > 0) process.exitCode = 1;
    }),
  );

  const serving = program
    .command('sandbox')
    .description('simulate the platform; with --send-to, send callbacks too')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen', wholeNumber, 8090)
    .option('--token <token>', 'the accepted bearer token (default: the one it prints)', env.SERVICE_TOKEN)
    .option('--expires-in <number>', 'lifetime of the tokens of a login, seconds', wholeNumber, 3_600)
    .option('--slow-ms <number>', 'delay of a slow response, milliseconds', wholeNumber, 3_000)
    .option('--send-to <address>', 'the base address of a receiver to send callbacks to', httpAddress);
  // A few clinics on a busy day.
  addSendOptions(serving, { rate: 1 }).action((flags: SandboxFlags, command: Command) =>
    untilEnd(async (signal) => {
      const { sandboxToken, startSandbox } = await import('./server.ts');
      const { host, port, sendTo } = flags;
      const token = flags.token || sandboxToken;
      const serviceIdentifierField = env.SERVICE_IDENTIFIER_FIELD || 'svc';
      const sandbox = await startSandbox({ ...flags, tokens: [token], serviceIdentifierField }).catch(
        (error: NodeJS.ErrnoException) => {
          // 69: EX_UNAVAILABLE
          command.error(`sandbox: cannot listen on ${host}:${port} (${error.code})`, { exitCode: 69 });
        },
      );
      command.configureOutput().writeOut?.(`export SERVICE_BASE_URL=${sandbox.url} SERVICE_TOKEN=${token}\n`);
      try {
        if (sendTo) {
          const { send } = await import('./send.ts');
          await send(command, flags, sendTo, env, signal);
        }
        if (!signal.aborted) await once(signal, 'abort');
      } finally {
        await sandbox.close();
      }
    }),
  );
}

async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  // Once: a second interrupt ends the process at once.
  process.once('SIGINT', abort).once('SIGTERM', abort);
  try {
    await work(controller.signal);
  } finally {
    process.off('SIGINT', abort).off('SIGTERM', abort);
  }
}

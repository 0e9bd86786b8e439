import type { Command } from 'commander';
import {
  addSendOptions,
  httpAddress,
  receiverAddress,
  registeredUrls,
  type SendFlags,
  wholeNumber,
} from './send-options.ts';

type Env = Record<string, string | undefined>;

interface SandboxFlags extends Omit<SendFlags, 'url'> {
  readonly host: string;
  readonly port: number;
  readonly token?: string;
  readonly slowMs: number;
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
  addSendOptions(sending, { count: 100 }).action(async ({ url, ...flags }: SendFlags, command: Command) => {
    await untilEnd(async (signal) => {
      const summary = await run(command, flags, url, env, signal);
      if (summary.unacknowledged > 0) process.exitCode = 1;
    });
  });

  const serving = program
    .command('sandbox')
    .description('simulate the service; with --send-to, send callbacks too')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen', wholeNumber, 8090)
    .option('--token <token>', 'the accepted bearer token (default: the one it prints)', env.SERVICE_TOKEN)
    .option('--slow-ms <number>', 'delay of a slow response, milliseconds', wholeNumber, 3_000)
    .option('--send-to <address>', 'the base address of a receiver to send callbacks to', httpAddress);
  // A few clinics on a busy day.
  addSendOptions(serving, { rate: 1 }).action(async (flags: SandboxFlags, command: Command) => {
    const { host, port, slowMs, sendTo } = flags;
    const serviceIdentifierField = env.SERVICE_IDENTIFIER_FIELD || 'svc';
    await untilEnd(async (signal) => {
      const { sandboxToken, startSandbox } = await import('./server.ts');
      const token = flags.token || sandboxToken;
      const options = { host, port, slowMs, tokens: [token], serviceIdentifierField };
      const sandbox = await startSandbox(options).catch((error: Error & { code?: string }) => {
        // 69: EX_UNAVAILABLE
        command.error(`sandbox: cannot listen on ${host}:${port} (${error.code})`, { exitCode: 69 });
      });
      print(command, `export SERVICE_BASE_URL=${sandbox.url} SERVICE_TOKEN=${token}`);
      try {
        if (sendTo) await run(command, flags, sendTo, env, signal);
        await aborted(signal);
      } finally {
        await sandbox.close();
      }
    });
  });
}

async function run(
  command: Command,
  flags: Omit<SendFlags, 'url'>,
  base: string,
  env: Env,
  signal: AbortSignal,
) {
  const { send } = await import('./send.ts');
  return send({
    flags,
    urls: registeredUrls(base, env),
    signingKey: flags.sign ?? (env.SIGNING_KEYS?.split(',')[0]?.trim() || undefined),
    signatureHeader: env.SIGNATURE_HEADER || undefined,
    signal,
    progress: process.stderr,
    print: (text) => print(command, text),
  }).catch((error: Error & { code?: string; path?: string }) => {
    // 73: EX_CANTCREAT
    if (error.path !== undefined && error.path === flags.ledger) {
      command.error(`${command.name()}: cannot write the ledger ${error.path} (${error.code})`, {
        exitCode: 73,
      });
    }
    throw error;
  });
}

async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  // Once: a second interrupt ends the process at once.
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, abort);
  try {
    await work(controller.signal);
  } finally {
    for (const signal of signals) process.off(signal, abort);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function print(command: Command, text: string): void {
  command.configureOutput().writeOut?.(`${text}\n`);
}

import type { Command } from 'commander';
import {
  addSendOptions,
  httpAddress,
  receiverAddress,
  registeredUrls,
  type SendFlags,
  wholeNumber,
} from './send-options.ts';
import { sandboxToken } from './token.ts';

type Env = Record<string, string | undefined>;

interface SandboxFlags extends Omit<SendFlags, 'url'> {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly slowMs: number;
  readonly sendTo?: string;
}

/**
 * Adds `send` and `sandbox` to the command line; where the receiver is and its keys come from `env`. Both
 * run until they are interrupted, by SIGINT or SIGTERM unless told otherwise. What a command needs is loaded
 * when it runs, for the receiver starts faster without it.
 */
export function addSandboxCommands(program: Command, env: Env, untilEnd = untilInterrupted): void {
  const sending = program
    .command('send')
    .description('send made-up callbacks to a receiver, as the service does; ends with a summary')
    .option('--url <address>', "the receiver's base address", httpAddress, receiverAddress(env));
  addSendOptions(sending, { count: 100 }).action(async ({ url, ...flags }: SendFlags, command: Command) => {
    await untilEnd(async (signal) => {
      const summary = await run(command, flags, url, env, signal);
      if (summary.unacknowledged > 0) process.exitCode = 1;
    });
  });

  const serving = program
    .command('sandbox')
    .description('serve a stand-in for the service, and send callbacks if --send-to says where')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen', wholeNumber, 8090)
    .option('--token <token>', 'the bearer token that it takes', env.SERVICE_TOKEN || sandboxToken)
    .option('--slow-ms <number>', 'how long a slow answer takes, milliseconds', wholeNumber, 3_000)
    .option('--send-to <address>', "a receiver's base address to send callbacks to", httpAddress);
  // One a second is a busy day for a few clinics.
  addSendOptions(serving, { rate: 1 }).action(async (flags: SandboxFlags, command: Command) => {
    const { host, port, token, slowMs, sendTo } = flags;
    const serviceIdentifierField = env.SERVICE_IDENTIFIER_FIELD || 'svc';
    await untilEnd(async (signal) => {
      const { startSandbox } = await import('./server.ts');
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

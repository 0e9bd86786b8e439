import { type Command, Option } from 'commander';
import type { PastFlags } from './past/send-past.ts';
import { addSendOptions, days, httpAddress, receiverAddress, share, wholeNumber } from './send-options.ts';
import type { SandboxFlags } from './serve.ts';
import type { Env } from './urls.ts';

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
  addSendOptions(sending, { count: 100 })
    .option('--history <days>', 'a believable past of some clinics, such as 400d, until now', days)
    .option('--aliases <file>', 'with --history: write names of its ids, for receiver aliases import')
    .action((flags: PastFlags & { url: string }, command: Command) =>
      untilEnd(async (signal) => {
        // Without an address, the receiver of this machine, which may listen on a socket file.
        const isOwn = command.getOptionValueSource('url') === 'default';
        const details = { socketPath: (isOwn && env.SOCKET) || undefined };
        const { send } = await import('./send.ts');
        const { sendPast } = await import('./past/send-past.ts');
        const { history, url } = flags;
        const summary = await (history === undefined
          ? send(command, flags, url, env, signal, details)
          : sendPast(command, flags, history, url, env, signal, details));
        if (summary.unacknowledged > 0) process.exitCode = 1;
      }),
    );

  const serving = program
    .command('sandbox')
    .description('simulate the platform; with --send-to, send callbacks too')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen', wholeNumber, 8090)
    .addOption(
      new Option('--token <token>', 'the accepted bearer token; without it, one that is printed').default(
        env.SERVICE_TOKEN,
        'SERVICE_TOKEN',
      ),
    )
    .option('--expires-in <number>', 'lifetime of the tokens of a login, seconds', wholeNumber, 3_600)
    .option('--slow-ms <number>', 'delay of a slow response, milliseconds', wholeNumber, 3_000)
    .option('--send-to <address>', 'the base address of a receiver to send callbacks to', httpAddress);
  serving
    .option(
      '--appointments <number>',
      'begin with so many appointments of one practice, which can be read',
      wholeNumber,
    )
    .option('--unsent <number>', 'of these, appointments whose callbacks are never sent', wholeNumber)
    .option('--differing <number>', 'appointments whose last status is never sent', wholeNumber)
    .option('--rescheduled <number>', 'appointments that are moved to another one', wholeNumber)
    .option('--read-faults <share>', 'share of faults in the reads of records, such as 5%', share, 0);
  // A few clinics on a busy day.
  addSendOptions(serving, { rate: 1 }).action((flags: SandboxFlags, command: Command) =>
    untilEnd(async (signal) => {
      const { serve } = await import('./serve.ts');
      await serve(command, flags, env, signal);
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

import { once } from 'node:events';
import type { Command } from 'commander';
import { history } from './history.ts';
import { type AppointmentBook, appointmentBook, type BookOptions } from './platform/book.ts';
import { newRecords, recorded } from './platform/records.ts';
import { send } from './send.ts';
import type { SendFlags } from './send-options.ts';
import { type SandboxOptions, sandboxToken, startSandbox } from './server.ts';
import type { Env } from './urls.ts';

/** The options of the sandbox, as parsed by commander. */
export interface SandboxFlags
  extends SendFlags,
    Pick<SandboxOptions, 'host' | 'port' | 'slowMs' | 'expiresIn' | 'readFaults'>,
    Partial<Pick<BookOptions, 'appointments' | 'unsent' | 'differing' | 'rescheduled'>> {
  readonly token?: string;
  readonly sendTo?: string;
}

const day = 24 * 3_600_000;

/**
 * Serves the platform's operations until the signal aborts, and sends callbacks if there is a receiver to send them to. Ends
 * the command with exit code 64 for an impossible number of appointments, 69 if it cannot listen.
 */
export async function serve(
  command: Command,
  given: SandboxFlags,
  env: Env,
  signal: AbortSignal,
): Promise<void> {
  const { seed = Math.floor(Math.random() * 2 ** 31), start = Date.now() - 6 * day } = given;
  const flags = given.appointments === undefined ? given : { ...given, seed, start };
  const { host, port, sendTo } = flags;
  const token = flags.token || sandboxToken;
  const book = openBook(command, flags, seed, start);
  const records = book?.records ?? newRecords();
  const serviceIdentifierField = env.SERVICE_IDENTIFIER_FIELD || 'svc';
  const sandbox = await startSandbox({ ...flags, records, tokens: [token], serviceIdentifierField }).catch(
    (error: NodeJS.ErrnoException) => {
      // 69: EX_UNAVAILABLE
      command.error(`sandbox: cannot listen on ${host}:${port} (${error.code})`, { exitCode: 69 });
    },
  );
  command.configureOutput().writeOut?.(`export SERVICE_BASE_URL=${sandbox.url} SERVICE_TOKEN=${token}\n`);
  try {
    if (sendTo && book) {
      const atOnce = { ...flags, count: 0, rate: undefined };
      await send(command, atOnce, sendTo, env, signal, { sourceOf: () => book.past() });
      if (!signal.aborted)
        await send(command, flags, sendTo, env, signal, { sourceOf: () => book.present() });
    } else if (sendTo) {
      const sourceOf = (options: Parameters<typeof history>[0]) => recorded(history(options), records);
      await send(command, flags, sendTo, env, signal, { sourceOf });
    } else {
      for (const _ of book?.past() ?? []);
    }
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await sandbox.close();
  }
}

function openBook(
  command: Command,
  flags: SandboxFlags,
  seed: number,
  start: number,
): AppointmentBook | undefined {
  const { appointments, unsent, differing, rescheduled } = flags;
  if ([appointments, unsent, differing, rescheduled].every((number) => number === undefined))
    return undefined;
  try {
    return appointmentBook({ ...flags, seed, start, appointments: appointments ?? 0 });
  } catch (error) {
    // 64: EX_USAGE
    if (error instanceof RangeError) command.error(`sandbox: ${error.message}`, { exitCode: 64 });
    throw error;
  }
}

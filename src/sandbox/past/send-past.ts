import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { eventTimeMs } from '../history.ts';
import { type SendDetails, send } from '../send.ts';
import type { SendFlags } from '../send-options.ts';
import type { Summary } from '../tally.ts';
import type { Env } from '../urls.ts';
import { dayMs, dayOf, startOf } from './calendar.ts';
import { past, pastAliases } from './past.ts';

export interface PastFlags extends SendFlags {
  /** The length of the past, in days. */
  readonly history?: number;
  /** The file for the names of its ids. */
  readonly aliases?: string;
}

/**
 * Sends a past that ends now, as `send` does. Ends the command with exit code 73 if the file of names cannot be written.
 *
 * @param days the length of the past
 */
export async function sendPast(
  command: Command,
  flags: PastFlags,
  days: number,
  base: string,
  env: Env,
  signal: AbortSignal,
  { socketPath }: SendDetails,
): Promise<Summary> {
  const until = Date.now();
  const seed = flags.seed ?? Math.floor(Math.random() * 2 ** 31);
  const start = flags.start ?? startOf(dayOf(until) - days);
  if (flags.aliases !== undefined)
    await writeFile(flags.aliases, pastAliases(seed)).catch((error: NodeJS.ErrnoException) =>
      // 73: EX_CANTCREAT
      command.error(`send: cannot write the names ${error.path} (${error.code})`, { exitCode: 73 }),
    );
  // All of it, where no number was asked for.
  const count = command.getOptionValueSource('count') === 'default' ? 0 : flags.count;
  const total = Math.max(1, dayOf(until) - dayOf(start));
  return send(command, { ...flags, seed, start, count }, base, env, signal, {
    socketPath,
    sourceOf: (options) => past({ ...options, seed, start, duration: days * dayMs, until }),
    repeat: `--history ${days}d `,
    progress: {
      total,
      unit: 'days',
      done: ({ callback }) => Math.max(0, dayOf(eventTimeMs(callback.envelope)) - dayOf(start)),
    },
  });
}

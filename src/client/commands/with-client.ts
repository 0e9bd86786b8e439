import type { Command } from 'commander';
import * as errors from '../errors.ts';
import { createServiceClient, type ServiceClient } from '../service-client.ts';
import { InputEnded } from './register.ts';
import { MissingSettings, parseSettings } from './settings.ts';

const exitCodes: [abstract new (...args: never[]) => Error, number][] = [
  // sysexits.h
  [MissingSettings, 78],
  [errors.RefusedInput, 64],
  [errors.Rejected, 65],
  [InputEnded, 65],
  [errors.Unavailable, 69],
  [errors.UnreadableResponse, 76],
  [errors.Unauthorized, 77],
];

export interface Opened {
  readonly client: ServiceClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line of the result, or one about it. */
  readonly print: (text: string) => void;
  readonly explain: (text: string) => void;
}

/** Runs a command with the client that `env` configures; each kind of error has its own exit code, and may have advice. */
export async function withClient(
  command: Command,
  env: Opened['env'],
  work: (opened: Opened) => Promise<void>,
): Promise<void> {
  let client: ServiceClient | undefined;
  const { writeOut, writeErr } = command.configureOutput();
  try {
    client = createServiceClient(parseSettings(env));
    const print = (text: string) => writeOut?.(`${text}\n`);
    await work({ client, env, print, explain: (text) => writeErr?.(`${text}\n`) });
  } catch (error) {
    const exitCode = exitCodes.find(([type]) => error instanceof type)?.[1];
    if (exitCode === undefined) throw error;
    const body =
      error instanceof errors.ServiceError && error.body ? ` · ${error.body.replaceAll('\n', ' ')}` : '';
    const { message, advice } = error as Error & { advice?: string };
    const text = `${nameOf(command)}: ${message}${body}`;
    // The help page is for errors of the command line.
    command.showHelpAfterError(false);
    command.error([text, advice].filter(Boolean).join('\n'), { exitCode });
  } finally {
    await client?.close();
  }
}

/** The words of a command after the program's name. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

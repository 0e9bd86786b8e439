import type { Command } from 'commander';
import * as errors from '../errors.ts';
import { createServiceClient, type ServiceClient } from '../service-client.ts';
import { InputEnded } from './prompt.ts';
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

/**
 * Runs a command with the client that `env` configures; each kind of error has its own exit code. `hint` returns what to
 * print after an error.
 */
export async function withClient(
  command: Command,
  env: Record<string, string | undefined>,
  work: (client: ServiceClient, print: (text: string) => void) => Promise<void>,
  hint: (error: unknown) => string = () => '',
): Promise<void> {
  let client: ServiceClient | undefined;
  try {
    client = createServiceClient(parseSettings(env));
    await work(client, (text) => command.configureOutput().writeOut?.(`${text}\n`));
  } catch (error) {
    const exitCode = exitCodes.find(([type]) => error instanceof type)?.[1];
    if (exitCode === undefined) throw error;
    const body =
      error instanceof errors.ServiceError && error.body ? ` · ${error.body.replaceAll('\n', ' ')}` : '';
    const message = `${nameOf(command)}: ${(error as Error).message}${body}`;
    // The help page is for errors of the command line.
    command.showHelpAfterError(false);
    command.error([message, hint(error)].filter(Boolean).join('\n'), { exitCode });
  } finally {
    await client?.close();
  }
}

/** The words of a command after the program's name. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

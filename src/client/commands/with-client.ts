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

/** Runs a command with the client that `env` configures; each kind of error has its own exit code. */
export async function withClient(
  command: Command,
  env: Record<string, string | undefined>,
  work: (client: ServiceClient, print: (text: string) => void) => Promise<void>,
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
    command.error(`${command.name()}: ${(error as Error).message}${body}`, { exitCode });
  } finally {
    await client?.close();
  }
}

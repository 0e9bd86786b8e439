import type { Command } from 'commander';
import { InputEnded } from './dialogue.ts';
import {
  RefusedInput,
  Rejected,
  ServiceError,
  Unauthorized,
  Unavailable,
  UnreadableResponse,
} from './errors.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';
import { MissingSettings, settingsFrom } from './settings.ts';

const exitCodes: [abstract new (...args: never[]) => Error, number][] = [
  // The numbers of sysexits.h.
  [MissingSettings, 78],
  [RefusedInput, 64],
  [Rejected, 65],
  [InputEnded, 65],
  [Unavailable, 69],
  [UnreadableResponse, 76],
  [Unauthorized, 77],
];

/** Gives a command the client that `env` describes; an error ends the command with its own exit code. */
export async function withClient(
  command: Command,
  env: Record<string, string | undefined>,
  work: (client: ServiceClient, print: (text: string) => void) => Promise<void>,
): Promise<void> {
  let client: ServiceClient | undefined;
  try {
    client = createServiceClient(settingsFrom(env));
    await work(client, (text) => command.configureOutput().writeOut?.(`${text}\n`));
  } catch (error) {
    const exitCode = exitCodes.find(([type]) => error instanceof type)?.[1];
    if (exitCode === undefined) throw error;
    const body = error instanceof ServiceError && error.body ? ` · ${error.body.replaceAll('\n', ' ')}` : '';
    command.error(`${command.name()}: ${(error as Error).message}${body}`, { exitCode });
  } finally {
    await client?.close();
  }
}

import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import * as errors from '../errors.ts';
import { eventNames } from '../event-names.ts';
import { createServiceClient, type ServiceClient } from '../service-client.ts';
import { MissingSettings, parseSettings } from './settings.ts';
import { searchTable, subscriptionsJson, subscriptionsTable } from './tables.ts';

export interface Opened {
  readonly client: ServiceClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line of the result, or one about it. */
  readonly print: (text: string) => void;
  readonly explain: (text: string) => void;
}

export async function search(
  { client, print }: Opened,
  q: string,
  { limit, type, json }: { limit: number; type: 'drug' | 'lab'; json?: true },
): Promise<void> {
  const found = await client.searchDrugsAndLabs({ q, limit, s_type: type });
  print(json ? JSON.stringify(found.raw, undefined, 2) : searchTable(found));
}

export async function listSubscriptions({ client, print }: Opened, { json }: { json?: true }): Promise<void> {
  const { data } = await client.listSubscriptions();
  print(json ? subscriptionsJson(data) : subscriptionsTable(data));
}

/** Creates a subscription, signed with the first of SIGNING_KEYS; without one, with a new key, which is printed for `.env`. */
export async function addSubscription(
  { client, env, print, explain }: Opened,
  { url, events }: { readonly url: string; readonly events: 'all' | readonly string[] },
): Promise<void> {
  const names = events === 'all' ? eventNames : events;
  const undocumented = names.filter((name) => !(eventNames as readonly string[]).includes(name));
  if (undocumented.length > 0) explain(`Not a documented event: ${undocumented.join(', ')}`);

  const existingKey = env.SIGNING_KEYS?.split(',')[0]?.trim();
  // Hexadecimal: no character that .env or the list of keys gives a meaning to.
  const signing_key = existingKey || randomBytes(32).toString('hex');
  const protocol = new URL(url).protocol.slice(0, -1);
  const request = { endpoint: url, event_names: [...names], signing_key, protocol };
  const { id } = await client.createSubscription(request).catch((error: unknown) => {
    const mayExist =
      error instanceof errors.UnreadableResponse ||
      (error instanceof errors.Unavailable ? error.mayHaveReached : isStatus(error, 400));
    const advice =
      'The endpoint may have a subscription already: see `receiver subscriptions list`. To replace it, remove it, then add it again.';
    throw mayExist ? Object.assign(error as Error, { advice }) : error;
  });
  explain(`Subscription ${id ?? '(the platform returned no id)'} created: ${names.length} events.`);
  if (existingKey) return;
  print(`SIGNING_KEYS=${signing_key}`);
  explain(
    'This line is printed only once. Put it into .env now and restart every receiver: until then, callbacks get a 401.',
  );
}

const isStatus = (error: unknown, status: number) =>
  error instanceof errors.ServiceError && error.status === status;

export async function removeSubscription({ client, print }: Opened, id: string): Promise<void> {
  await client.deleteSubscription({ id });
  print('Subscription removed.');
}

const exitCodes: [abstract new (...args: never[]) => Error, number][] = [
  // sysexits.h
  [MissingSettings, 78],
  [errors.RefusedInput, 64],
  [errors.Rejected, 65],
  [errors.Unavailable, 69],
  [errors.UnreadableResponse, 76],
  [errors.Unauthorized, 77],
];

/** Runs a command with the client that `env` configures; each kind of error has its own exit code, and may have advice. */
export async function withClient(
  command: Command,
  env: Opened['env'],
  work: (opened: Opened) => Promise<void>,
): Promise<void> {
  const { writeOut, writeErr } = command.configureOutput();
  try {
    const client = createServiceClient(parseSettings(env));
    const print = (text: string) => writeOut?.(`${text}\n`);
    await work({ client, env, print, explain: (text) => writeErr?.(`${text}\n`) });
  } catch (error) {
    const exitCode = exitCodes.find(([type]) => error instanceof type)?.[1];
    if (exitCode === undefined) throw error;
    const { message, advice, body } = error as Error & { advice?: string; body?: string };
    const text = `${nameOf(command)}: ${message}${body ? ` · ${body.replaceAll('\n', ' ')}` : ''}`;
    // The help page is for errors of the command line.
    command.showHelpAfterError(false);
    command.error([text, advice].filter(Boolean).join('\n'), { exitCode });
  }
}

/** The words of a command after the program's name. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

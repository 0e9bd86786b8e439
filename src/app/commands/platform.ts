import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import * as errors from '../../client/index.ts';
import { createServiceClient, eventNames, type ServiceClient } from '../../client/index.ts';
import { MissingSettings, parseSettings } from '../../client/settings.ts';
import { parseCount } from '../../common/terminal.ts';
import { searchTable, subscriptionsJson, subscriptionsTable } from './platform-tables.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Adds `search` and `subscriptions` to the command line; the platform's address and token come from `env`. */
export function addClientCommands(program: Command, env: Env): void {
  const { writeOut, writeErr } = program.configureOutput();
  const print = (text: string) => writeOut?.(`${text}\n`);
  const explain = (text: string) => writeErr?.(`${text}\n`);
  const run =
    <Given extends unknown[]>(action: (client: ServiceClient, ...given: Given) => Promise<void>) =>
    (...given: Given) =>
      withClient(given.at(-1) as Command, env, (client) => action(client, ...given));

  program
    .command('search')
    .description("search the platform's medical database")
    .argument('<query>', 'search text')
    .option('--limit <number>', 'maximum number of results, 1 to 100', parseCount, 10)
    .addOption(new Option('--type <type>', 'what to search for').choices(['drug', 'lab']).default('drug'))
    .option('--json', 'print the response as JSON')
    .action(
      run(async (client, q: string, flags: { limit: number; type: 'drug' | 'lab'; json?: true }) => {
        const found = await client.searchDrugsAndLabs({ q, limit: flags.limit, s_type: flags.type });
        print(flags.json ? JSON.stringify(found.raw, undefined, 2) : searchTable(found));
      }),
    );

  const subscriptions = program
    .command('subscriptions')
    .description('which events the platform sends, and where to');

  subscriptions
    .command('list')
    .description('list the subscriptions, without their signing keys')
    .option('--json', 'print them as JSON')
    .action(
      run(async (client, { json }: { json?: true }) => {
        const { data } = await client.listSubscriptions();
        print(json ? subscriptionsJson(data) : subscriptionsTable(data));
      }),
    );

  subscriptions
    .command('add')
    .description('subscribe an endpoint to events, signed with the first of SIGNING_KEYS, or with a new key')
    .requiredOption('--url <address>', 'the endpoint: where the platform sends callbacks to', httpAddress)
    .option(
      '--events <names>',
      'names of events, comma-separated; or all: every documented one',
      names,
      'all',
    )
    .action(
      run(async (client, { url, events }: { url: string; events: 'all' | string[] }) => {
        const event_names: string[] = events === 'all' ? [...eventNames] : events;
        const documented: readonly string[] = eventNames;
        const undocumented = event_names.filter((name) => !documented.includes(name));
        if (undocumented.length > 0) explain(`Not a documented event: ${undocumented.join(', ')}`);
        const existingKey = env.SIGNING_KEYS?.split(',')[0]?.trim();
        // Hexadecimal: no character that .env or the list of keys gives a meaning to.
        const signing_key = existingKey || randomBytes(32).toString('hex');
        const protocol = new URL(url).protocol.slice(0, -1);
        const { id } = await client
          .createSubscription({ endpoint: url, event_names, signing_key, protocol })
          .catch(adviseOnExisting);
        explain(
          `Subscription ${id ?? '(the platform returned no id)'} created: ${event_names.length} events.`,
        );
        if (existingKey) return;
        print(`SIGNING_KEYS=${signing_key}`);
        explain(
          'This line is printed only once. Put it into .env now and restart every receiver: until then, callbacks get a 401.',
        );
      }),
    );

  subscriptions
    .command('remove')
    .description('delete a subscription: the platform then sends nothing for it')
    .argument('<id>', 'the id that list prints')
    .action(
      run(async (client, id: string) => {
        await client.deleteSubscription({ id });
        print('Subscription removed.');
      }),
    );
}

function adviseOnExisting(error: errors.ServiceError): never {
  const mayExist =
    error instanceof errors.UnreadableResponse ||
    (error instanceof errors.Unavailable ? error.mayHaveReached : error.status === 400);
  const advice =
    'The endpoint may have a subscription already: see `receiver subscriptions list`. To replace it, remove it, then add it again.';
  throw mayExist ? Object.assign(error, { advice }) : error;
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
async function withClient(command: Command, env: Env, work: (client: ServiceClient) => Promise<void>) {
  try {
    await work(createServiceClient(parseSettings(env)));
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

function httpAddress(text: string): string {
  if (/^https?:\/\/./i.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It must be an http(s) address.');
}

function names(text: string): 'all' | string[] {
  if (text.trim() === 'all') return 'all';
  const events = [...new Set(text.split(',').map((name) => name.trim()))].filter(Boolean);
  if (events.length > 0) return events;
  throw new InvalidArgumentError('It must be all, or names of events, comma-separated.');
}

import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readTime } from '../../callbacks/times.ts';
import * as client from '../../client/index.ts';
import { parseSettings } from '../../client/settings.ts';
import { partsOf } from '../../common/config/value-types.ts';
import type { Environment } from '../../common/config/variables.ts';
import { note, parseCount, print, printTable } from '../../common/terminal.ts';

/** Adds `drugs` and `subscriptions` to the command line; the platform's address and token come from `env`. */
export function addClientCommands(program: Command, env: Environment): void {
  const run =
    <Args extends unknown[]>(action: (platform: client.ServiceClient, ...args: Args) => Promise<void>) =>
    (...args: Args) =>
      action(client.createServiceClient(parseSettings(env)), ...args);
  // Scripts may have the former name.
  for (const name of ['drugs', 'search'])
    program
      .command(name, { hidden: name === 'search' })
      .description('search the platform’s database of drugs and laboratory tests')
      .argument('<query>', 'search text')
      .option('--limit <number>', 'maximum number of results, 1 to 100', parseCount, 10)
      .addOption(new Option('--type <type>', 'what to search for').choices(['drug', 'lab']).default('drug'))
      .action(run(searchDrugs));
  const subscriptions = program
    .command('subscriptions')
    .description('which events the platform sends, and where to');
  subscriptions
    .command('list')
    .description('list the subscriptions, without their signing keys')
    .action(run(listSubscriptions));
  const events = new Option(
    '--events <names>',
    'names of events, comma-separated; all: every documented one',
  );
  subscriptions
    .command('add')
    .description('subscribe an endpoint to events, signed with the first of SIGNING_KEYS, or with a new key')
    .requiredOption('--url <address>', 'the endpoint: where the platform sends callbacks to', httpAddress)
    .addOption(events.argParser(parseEvents).default(client.eventNames, 'all'))
    .action(run((platform, flags) => addSubscription(platform, flags, firstSigningKey(env))));
  subscriptions
    .command('remove')
    .description('delete a subscription: the platform then sends nothing for it')
    .argument('<id>', 'the id that list prints')
    .action(
      run(async (platform, id: string) => {
        await platform.deleteSubscription({ id });
        print('Subscription removed.');
      }),
    );
}

async function searchDrugs(
  platform: client.ServiceClient,
  q: string,
  { limit, type }: { limit: number; type: 'drug' | 'lab' },
): Promise<void> {
  const { drugs, lab_tests: tests } = await platform.searchDrugsAndLabs({ q, limit, s_type: type });
  if (drugs.length + tests.length === 0) return print('No results.');
  const drugRows = drugs.map((d) => {
    const otc = d.is_otc == null ? '' : d.is_otc ? 'yes' : 'no';
    return [d.name, d.generic_name, d.manufacturer_name, d.product_type, otc, d.id];
  });
  const testRows = tests.map((t) => [t.name, t.category, t.price?.toFixed(2), t.preparation, t.id]);
  if (drugRows.length > 0) printTable(['Drug', 'Generic', 'Manufacturer', 'Form', 'OTC', 'Id'], drugRows);
  if (testRows.length > 0)
    printTable(['Laboratory test', 'Category', 'Price', 'Preparation', 'Id'], testRows);
}

async function listSubscriptions(platform: client.ServiceClient): Promise<void> {
  const { data: subscriptions } = await platform.listSubscriptions();
  if (subscriptions.length === 0) return print('No subscriptions.');
  const rows = subscriptions.map((s) => {
    const names = s.event_names ?? [];
    const hasAll = client.eventNames.every((name) => names.includes(name));
    const events = hasAll && names.length === client.eventNames.length ? 'all' : names.join('\n');
    const createdMs = readTime(s.created_at);
    return [s.id, events, s.endpoint, s.protocol, createdMs == null ? null : new Date(createdMs)];
  });
  printTable(['Id', 'Events', 'Endpoint', 'Protocol', 'Created'], rows);
}

export const firstSigningKey = (env: Environment) => partsOf(env.SIGNING_KEYS ?? '')[0];

async function addSubscription(
  platform: client.ServiceClient,
  { url, events }: { url: string; events: readonly string[] },
  existingKey: string | undefined,
): Promise<void> {
  const undocumented = events.filter((name) => !client.eventNames.includes(name));
  if (undocumented.length > 0) note(`Not a documented event: ${undocumented.join(', ')}`);
  // Hexadecimal: no character that .env or the list of keys gives a meaning to.
  const signing_key = existingKey ?? randomBytes(32).toString('hex');
  const protocol = new URL(url).protocol.slice(0, -1);
  const request = { endpoint: url, event_names: [...events], signing_key, protocol };
  const { id } = await platform.createSubscription(request).catch((error) => {
    const mayExist = error instanceof client.UnreadableResponse || error.mayHaveReached;
    if (mayExist && !existingKey)
      note('It may exist, with a key that nobody has: see receiver subscriptions list, and remove it.');
    throw error;
  });
  note(`Subscription ${id ?? '(the platform returned no id)'} created: ${events.length} events.`);
  if (existingKey) return;
  print(`SIGNING_KEYS=${signing_key}`);
  note(
    'This line is printed only once. Put it into .env now and restart every receiver: until then, callbacks get a 401.',
  );
}

/** @throws InvalidArgumentError */
export function httpAddress(text: string): string {
  if (/^https?:\/\/./i.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It must be an http(s) address.');
}

function parseEvents(text: string): readonly string[] {
  if (text.trim() === 'all') return client.eventNames;
  const events = [...new Set(partsOf(text))];
  if (events.length > 0) return events;
  throw new InvalidArgumentError('It must be all, or names of events, comma-separated.');
}

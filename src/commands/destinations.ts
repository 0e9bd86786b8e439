import { type Command, InvalidArgumentError } from 'commander';
import { cursorOfNow } from '../changes/cursor-of-now.ts';
import { familiesInFeed } from '../changes/families.ts';
import { openFeed } from '../changes/open-feed.ts';
import { readPage } from '../changes/read-page.ts';
import { createRecordReader, readColumns } from '../changes/read-records.ts';
import { print, printTable } from '../common/output.ts';
import type { Environment } from '../config/config.ts';
import {
  addDestination,
  type Destination,
  findDestination,
  listDestinations,
  pauseDestination,
  removeDestination,
  resumeDestination,
  skipTo,
} from '../destinations/destination-table.ts';
import { isAccepted, post } from '../destinations/post.ts';
import { secretText } from '../destinations/sign.ts';
import { testMessage } from '../destinations/to-message.ts';
import { families } from '../families/index.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

interface AddOptions {
  families: string[];
  business?: string;
  public?: true;
  all?: true;
  insecure?: true;
}

export const addDestinationsCommand: AddCommand = (program, env) => {
  const destinations = program
    .command('destinations')
    .description('where changes are sent to, as signed webhooks');
  destinations
    .command('add')
    .description('send changes to an address from now on, and print the secret that signs them')
    .argument('<url>', 'the address')
    .requiredOption('--families <names>', 'whose changes, comma-separated', parseFamilies)
    .option('--business <id>', 'only those of one business')
    .option('--public', 'without personal columns')
    .option('--all', 'first all records that are there')
    .option('--insecure', 'permit an address without TLS')
    .action(onDatabase(env, add));
  destinations.command('list').description('list them').action(onDatabase(env, list));
  const about = aboutOne(destinations, env);
  about('test', 'send it a signed message without data, and print the status', test);
  about('pause', 'send it nothing until it is resumed', pause);
  about('resume', 'continue where it was, with the newest state of what has changed', resume);
  about('skip', 'leave out the next change, which it does not accept', skip);
  about('remove', 'forget it', async ({ db }, { id }) => {
    await logChange(db, 'remove', id);
    await removeDestination(db, id);
    print(`${id} is removed`);
  });
};

/** Adds commands about one destination. */
const aboutOne =
  (destinations: Command, env: Environment) =>
  (name: string, description: string, run: (opened: Opened, destination: Destination) => Promise<void>) =>
    destinations
      .command(name)
      .description(description)
      .argument('<id>', 'as `list` shows it')
      .action(
        onDatabase(env, async (opened, id: string) => {
          const destination = await findDestination(opened.db, id);
          if (!destination) throw new Error(`There is no destination ${id}: receiver destinations list`);
          await run(opened, destination);
        }),
      );

function parseFamilies(text: string): string[] {
  const names: readonly string[] = familiesInFeed(families).map(({ name }) => name);
  const given = text.split(',').filter(Boolean);
  if (given.length > 0 && given.every((name) => names.includes(name))) return given;
  throw new InvalidArgumentError(`It must name some of ${names.join(', ')}.`);
}

/** @throws Error with what is wrong with it */
function parseUrl(text: string, isInsecure: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('The address must be a URL such as https://example.org/hooks.');
  if (url.username || url.password || url.hash)
    throw new Error('The address must have no user, password or fragment.');
  if (url.protocol === 'http:' && !isInsecure)
    throw new Error('Changes would be sent without TLS: use https, or permit that with --insecure.');
  return url.href;
}

const logChange = (db: Opened['db'], command: string, id: string, filter = {}) =>
  logCommand(db, { action: 'destination', filter: { command, destination: id, ...filter } });

async function add({ db }: Opened, url: string, options: AddOptions): Promise<void> {
  const selection = {
    url: parseUrl(url, options.insecure === true),
    families: options.families,
    businessId: options.business ?? null,
    isPublic: options.public === true,
  };
  const begin = options.all ? null : await cursorOfNow(db);
  const { id, secret } = await db.transaction().execute(async (tx) => {
    const destination = await addDestination(tx, selection, begin);
    const { families, isPublic } = selection;
    await logChange(tx, 'add', destination.id, { host: new URL(url).host, families, isPublic });
    return destination;
  });
  print(`${id} is added. Its secret, which is not shown again:\n${secretText(secret)}`);
}

async function list({ db }: Opened): Promise<void> {
  const rows = (await listDestinations(db)).map((one) => [
    one.id,
    one.url,
    one.families.join(', '),
    one.businessId,
    one.isPublic ? 'public' : 'all',
    [one.state, one.reason].filter(Boolean).join(': '),
    one.attempts,
    one.nextAt,
    one.delivered,
    one.deliveredAt,
  ]);
  const head = [
    ...['id', 'address', 'families', 'business', 'columns', 'state'],
    ...['failed attempts', 'next', 'accepted', 'last'],
  ];
  printTable(head, rows);
}

async function test({ config }: Opened, destination: Destination): Promise<void> {
  const outcome = await post(destination, testMessage(destination.id), config.destinations.timeoutMs);
  print(`${outcome.outcome} after ${outcome.ms} ms`);
  if (!isAccepted(outcome)) process.exitCode = 1;
}

async function pause({ db }: Opened, { id }: Destination): Promise<void> {
  await logChange(db, 'pause', id);
  await pauseDestination(db, id, null);
  print(`${id} is paused: the changes of the last 30 days are kept for it`);
}

async function resume({ db }: Opened, { id }: Destination): Promise<void> {
  await logChange(db, 'resume', id);
  await resumeDestination(db, id);
  print(`${id} is active`);
}

async function skip({ db }: Opened, destination: Destination): Promise<void> {
  const { id, cursor, businessId, attempts } = destination;
  const nothing = new Error('There is no change that it has not accepted.');
  if (attempts === 0) throw nothing;
  await openFeed(db);
  const inFeed = familiesInFeed(families);
  const records = createRecordReader(await readColumns(db, inFeed));
  const wanted = inFeed.filter(({ name }) => destination.families.includes(name));
  const query = { families: wanted, businessId: businessId ?? undefined, limit: 1, isPublic: true };
  let page = await readPage({ db, families: inFeed, records }, { ...query, after: cursor ?? undefined });
  while (page.changes.length === 0 && page.more)
    page = await readPage({ db, families: inFeed, records }, { ...query, after: page.next });
  const [change] = page.changes;
  if (!change) throw nothing;
  await db.transaction().execute(async (tx) => {
    if (!(await skipTo(tx, destination, change.cursor)))
      throw new Error('It is being sent to: pause it, or try again in a moment.');
    await logChange(tx, 'skip', id, { family: change.family, record: change.key.id });
  });
  print(`${change.family} ${change.key.id} is skipped`);
}

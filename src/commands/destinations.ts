import { type Command, InvalidArgumentError } from 'commander';
import { cursorOfNow } from '../changes/cursor-of-now.ts';
import type { Environment } from '../config/config.ts';
import { addressRules } from '../destinations/address-rules.ts';
import { listAttempts } from '../destinations/attempt-table.ts';
import {
  addDestination,
  type Destination,
  findDestination,
  listDestinations,
  removeDestination,
  rotateSecret,
  setState,
} from '../destinations/destination-table.ts';
import { openAgent } from '../destinations/open-agent.ts';
import { parseUrl } from '../destinations/parse-url.ts';
import { isAccepted } from '../destinations/post.ts';
import { sendTest } from '../destinations/send-test.ts';
import { secretText } from '../destinations/sign.ts';
import { listWaiting, redrive, shownId } from '../destinations/waiting-table.ts';
import { families } from '../families/index.ts';
import { print, printTable } from './output.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

interface AddOptions {
  families: string[];
  business?: string;
  public?: true;
  all?: true;
  inFlight: number;
}

const shown = 20;

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
    .option('--in-flight <number>', 'the most requests at the same time, 1 to 100', parseInFlight, 20)
    .action(onDatabase(env, add));
  destinations.command('list').description('list them').action(onDatabase(env, list));
  const about = aboutOne(destinations, env);
  about('show', 'print its last attempts, and the records that wait', show);
  about('test', 'send it a signed message without data, and print the answer', test);
  about('pause', 'send it nothing until it is resumed', pause);
  about('resume', 'continue where it was, with the newest state of what has changed', resume);
  about('redrive', 'send it again the records that were given up', async ({ db }, { id }) => {
    await logChange(db, 'redrive', id);
    print(`${await redrive(db, id, true)} records`);
  });
  about('rotate', 'print a new secret; for a day, the former one signs too', rotate);
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
  const names: readonly string[] = families.map(({ name }) => name);
  const given = text.split(',').filter(Boolean);
  if (given.length > 0 && given.every((name) => names.includes(name))) return given;
  throw new InvalidArgumentError(`It must name some of ${names.join(', ')}.`);
}

function parseInFlight(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= 100) return number;
  throw new InvalidArgumentError('It must be a number from 1 to 100.');
}

const logChange = (db: Opened['db'], command: string, id: string, filter = {}) =>
  logCommand(db, { action: 'destination', filter: { command, destination: id, ...filter } });

async function add({ db, config }: Opened, url: string, options: AddOptions): Promise<void> {
  const selection = {
    url: parseUrl(url, addressRules(config.destinations.allow)),
    families: options.families,
    businessId: options.business ?? null,
    isPublic: options.public === true,
    maxInFlight: options.inFlight,
  };
  const begin = options.all ? null : await cursorOfNow(db);
  const { id, secrets } = await db.transaction().execute(async (tx) => {
    const destination = await addDestination(tx, selection, begin);
    const { families, isPublic } = selection;
    await logChange(tx, 'add', destination.id, { host: new URL(url).host, families, isPublic });
    return destination;
  });
  print(`${id} is added. Its secret, which is not shown again:\n${secretText(secrets[0]!)}`);
}

async function list({ db }: Opened): Promise<void> {
  const rows = (await listDestinations(db)).map((one) => [
    one.id,
    one.url,
    one.families.join(', '),
    one.businessId,
    one.isPublic ? 'public' : 'all',
    one.reason ? `${one.state}: ${one.reason}` : one.failingSince ? 'failing' : one.state,
    one.delivered,
    one.deliveredAt,
    one.waiting - one.parked,
    one.parked,
  ]);
  const head = [
    'id',
    'address',
    'families',
    'business',
    'columns',
    'state',
    'accepted',
    'last',
    'waiting',
    'given up',
  ];
  printTable(head, rows);
}

async function show({ db }: Opened, { id }: Destination): Promise<void> {
  const attempts = await listAttempts(db, id, shown);
  printTable(
    ['attempt', 'type', 'outcome', 'ms', 'answer'],
    attempts.map(({ at, type, outcome, ms, answer }) => [at, type, outcome, ms, answer]),
  );
  const waiting = await listWaiting(db, id, shown);
  printTable(
    ['family', 'business', 'record', 'attempts', 'outcome', 'since', 'next', 'given up'],
    waiting.map((one) => [
      ...[one.family, one.businessId, shownId(one), one.attempts, one.outcome, one.failedAt],
      ...[one.parkedAt ? null : one.nextAt, one.parkedAt],
    ]),
  );
}

async function test({ config }: Opened, destination: Destination): Promise<void> {
  const { allow, times } = config.destinations;
  const dispatcher = openAgent(addressRules(allow), times.timeoutMs);
  try {
    const outcome = await sendTest(destination, dispatcher, times.timeoutMs);
    print(`${outcome.outcome} after ${outcome.ms} ms\n${outcome.answer}`);
    if (!isAccepted(outcome)) process.exitCode = 1;
  } finally {
    await dispatcher.destroy();
  }
}

async function pause({ db }: Opened, { id }: Destination): Promise<void> {
  await logChange(db, 'pause', id);
  await setState(db, id, 'paused', null);
  print(`${id} is paused: the changes of the last 30 days are kept for it`);
}

async function resume({ db }: Opened, { id }: Destination): Promise<void> {
  await logChange(db, 'resume', id);
  await setState(db, id, 'active', null);
  await redrive(db, id, false);
  print(`${id} is active`);
}

async function rotate({ db }: Opened, { id }: Destination): Promise<void> {
  await logChange(db, 'rotate', id);
  const { secrets } = (await rotateSecret(db, id))!;
  print(
    `The secret of ${id}, which is not shown again; for a day, the former one signs too:\n${secretText(secrets[0]!)}`,
  );
}

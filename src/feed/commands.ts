import { randomBytes, randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { print, printTable } from '../common/terminal.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { commandActor, logAccess } from '../receiver/store/log-access.ts';
import {
  addDestination,
  type Destination,
  handlerPrefix,
  here,
  listDestinations,
  moveTo,
  processEnded,
  update,
} from './destinations.ts';
import { familiesInFeed, readHead, readPage } from './read-changes.ts';
import { isAccepted, post } from './send.ts';

interface AddOptions {
  families: string[];
  business?: string;
  public?: true;
}
type Action = (core: Core, destination: Destination, options: { from?: string }) => Promise<unknown>;

export function addDestinationsCommand(program: Command, onCore: OnCore): void {
  const group = program.command('destinations').description('where changes are sent to, as signed webhooks');
  group
    .command('add <url>')
    .description('send changes to an address from now on, and print the secret that signs them')
    .requiredOption('--families <names>', 'whose changes, comma-separated', (text) => text.split(','))
    .option('--business <id>', 'only those of one business')
    .option('--public', 'without personal columns')
    .action(onCore(add));
  group.command('list').description('list them').action(onCore(list));
  const about = (name: string, description: string, run: Action) => {
    const find = async (core: Core, id: string, given: { from?: string }) => {
      const destination = (await listDestinations(core)).find((listed) => listed.id === id);
      if (!destination) throw new Error(`There is no destination ${id}: receiver destinations list`);
      const filter = { destination: id };
      await logAccess(core, { actor: commandActor(), action: `destination ${name}`, filter });
      await run(core, destination, given);
    };
    return group.command(`${name} <id>`).description(description).action(onCore(find));
  };
  about('test', 'send it a signed message without data, and print the status', test);
  about('pause', 'send it nothing until it is resumed', pause);
  about(
    'resume',
    'continue where it was; confirm it after a move of the database or of PUBLIC_URL',
    resume,
  ).addOption(new Option('--from <where>', 'begin again, with every record').choices(['beginning']));
  about('skip', 'leave out the next change, which it does not accept', skip);
  about('remove', 'forget it', remove);
}

async function add(core: Core, address: string, options: AddOptions): Promise<void> {
  const { families, business: business_id = null, public: is_public = false } = options;
  const parsed = URL.canParse(address) && new URL(address);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password)
    throw new Error('The address must be a URL of http(s) without credentials, such as https://example.org/');
  const url = parsed.href;
  const names = familiesInFeed(core.families);
  if (!families.every((name) => names.includes(name)))
    throw new Error(`--families must name some of ${names.join(', ')}`);
  const id = `d-${randomUUID().slice(-8)}`;
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await addDestination(core, commandActor(), { id, url, families, business_id, is_public, secret });
  print(`${id} is added. Its secret, which is not shown again:\n${secret}`);
}

async function list(core: Core): Promise<void> {
  const rows = (await listDestinations(core)).map((row) => [
    row.id,
    row.url,
    row.families.join(', '),
    row.business_id,
    row.is_public ? 'public' : 'all',
    row.paused ? `paused: ${row.paused}` : row.isHere ? 'active' : 'confirmed elsewhere',
    row.outcome,
    row.attempts,
    row.attempts > 0 ? row.next_at : null,
  ]);
  printTable(['id', 'address', 'families', 'business', 'columns', 'state', 'last', 'failed', 'next'], rows);
}

async function test({ config }: Core, destination: Destination): Promise<void> {
  if (destination.id.startsWith(handlerPrefix))
    throw new Error('It is a function of yours, which only a change of a record calls');
  const body = JSON.stringify({ type: 'destination.test', timestamp: new Date(), data: {} });
  const message = { id: `msg_${randomUUID()}`, body };
  const { outcome } = await post(destination, message, config.times.webhookMs, new AbortController().signal);
  print(outcome);
  if (!isAccepted(outcome)) process.exitCode = 1;
}

const pause: Action = ({ db }, { id }) => update(db, id).set({ paused: 'command' }).execute();

async function resume(core: Core, destination: Destination, { from }: { from?: string }): Promise<void> {
  const position = from ? 0 : Number(destination.position);
  // Without a failure its next time is a lease.
  if (destination.attempts > 0) await moveTo(core.db, destination, position, null);
  await update(core.db, destination.id)
    .set({ paused: null, place: here(core), ...(from && { position }) })
    .execute();
}

const remove: Action = ({ db }, { id }) =>
  db.deleteFrom('receiver.destinations').where('id', '=', id).execute();

async function skip(core: Core, destination: Destination): Promise<void> {
  if (destination.attempts === 0) throw new Error('There is no change that it has not accepted');
  if (destination.attempts === 1 && destination.outcome === processEnded)
    throw new Error(
      'Which change ended its process is not known before the next attempt, which has one alone',
    );
  const range = { ...(await readHead(core.db)), after: Number(destination.position), limit: 1 };
  // Nothing personal is read, so the access log has no entry of it.
  const selection = { ...destination, is_public: true };
  const { changes, next } = await readPage(core, selection, commandActor(), range);
  if (!(await moveTo(core.db, destination, next, null))) throw new Error('It was accepted in the meantime');
  for (const { family, record_id } of changes) print(`${family} ${record_id} is skipped`);
}

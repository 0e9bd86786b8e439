import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Opened } from './actions.ts';

type Actions = typeof import('./actions.ts');

/**
 * Adds `search` and `subscriptions` to the command line; the platform's address and token come from `env`.
 * Commands import their code when they run, so that the receiver starts faster.
 */
export function addClientCommands(program: Command, env: Opened['env']): void {
  const run =
    <Given extends unknown[]>(
      pick: (actions: Actions) => (opened: Opened, ...given: Given) => Promise<void>,
    ) =>
    async (...given: Given): Promise<void> => {
      const actions = await import('./actions.ts');
      const command = given.at(-1) as Command;
      await actions.withClient(command, env, (opened) => pick(actions)(opened, ...given));
    };

  program
    .command('search')
    .description("search the platform's medical database")
    .argument('<query>', 'search text')
    .option('--limit <number>', 'maximum number of results, 1 to 100', wholeNumber, 10)
    .addOption(new Option('--type <type>', 'what to search for').choices(['drug', 'lab']).default('drug'))
    .option('--json', 'print the response as JSON')
    .action(run(({ search }) => search));

  const subscriptions = program
    .command('subscriptions')
    .description('which events the platform sends, and where to');

  subscriptions
    .command('list')
    .description('list the subscriptions, without their signing keys')
    .option('--json', 'print them as JSON')
    .action(run(({ listSubscriptions }) => listSubscriptions));

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
    .action(run(({ addSubscription }) => addSubscription));

  subscriptions
    .command('remove')
    .description('delete a subscription: the platform then sends nothing for it')
    .argument('<id>', 'the id that list prints')
    .action(run(({ removeSubscription }) => removeSubscription));
}

function wholeNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
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

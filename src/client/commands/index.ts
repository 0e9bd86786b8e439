import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Opened } from './with-client.ts';

type Actions = typeof import('./actions.ts');

/**
 * Adds `search`, `register` and `subscriptions` to the command line; the platform's address and token come from `env`.
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

  program
    .command('register')
    .description('register a health account, step by step')
    .addOption(new Option('--route <route>', 'how to register').choices(['aadhaar', 'mobile']))
    .option('--pt-id <id>', 'X-Pt-Id header')
    .option('--partner-pt-id <id>', 'X-Partner-Pt-Id header')
    .option('--hip-id <id>', 'X-Hip-Id header')
    .option('--show-tokens', 'print tokens of the response')
    .action(run(({ registerOnTerminal }) => registerOnTerminal));

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
    .description('subscribe an endpoint to events, with a new signing key that is printed once')
    .requiredOption('--url <address>', 'the endpoint: where the platform sends callbacks to', httpAddress)
    .option(
      '--events <names>',
      'names of events, comma-separated; or all: every documented one',
      names,
      'all',
    )
    .option('--protocol <protocol>', "protocol of the endpoint (default: the address's own)")
    .option('--existing-key', 'use the first of SIGNING_KEYS, which receivers accept already, not a new one')
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

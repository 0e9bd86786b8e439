import { type Command, InvalidArgumentError } from 'commander';
import type { ServiceClient } from '../service-client.ts';
import type { AddFlags } from './add-subscription.ts';

type Env = Record<string, string | undefined>;

/** `receiver subscriptions`: lists, creates and deletes subscriptions, never printing a key but a new one. */
export function addSubscriptionCommands(program: Command, env: Env): void {
  const subscriptions = program
    .command('subscriptions')
    .description('which events the platform sends, and where to');

  subscriptions
    .command('list')
    .description('list the subscriptions, without their signing keys')
    .option('--json', 'print them as JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const { withClient } = await import('./with-client.ts');
      const { subscriptionsJson, subscriptionsTable } = await import('./tables.ts');
      await withClient(command, env, async (client, print) => {
        const { data } = await client.listSubscriptions();
        print(json ? subscriptionsJson(data) : subscriptionsTable(data));
      });
    });

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
    .action(async ({ existingKey, ...options }: AddFlags, command: Command) => {
      const { withClient } = await import('./with-client.ts');
      const { addSubscription, hintAfterError } = await import('./add-subscription.ts');
      const explain = (text: string) => command.configureOutput().writeErr?.(`${text}\n`);
      const keys = existingKey && (env.SIGNING_KEYS ?? '');
      const hint = (error: unknown) => hintAfterError(error, existingKey);
      const add = (client: ServiceClient, print: (text: string) => void) =>
        addSubscription({ client, ...options, keys, print, explain });
      await withClient(command, env, add, hint);
    });

  subscriptions
    .command('remove')
    .description('delete a subscription: the platform then sends nothing for it')
    .argument('<id>', 'the id that list prints')
    .action(async (id: string, _, command: Command) => {
      const { withClient } = await import('./with-client.ts');
      await withClient(command, env, async (client, print) => {
        await client.deleteSubscription({ id });
        print('Subscription removed.');
      });
    });
}

function httpAddress(text: string): string {
  if (/^https?:\/\/./i.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It must be an http(s) address.');
}

function names(text: string): AddFlags['events'] {
  if (text.trim() === 'all') return 'all';
  const events = [...new Set(text.split(',').map((name) => name.trim()))].filter(Boolean);
  if (events.length > 0) return events;
  throw new InvalidArgumentError('It must be all, or names of events, comma-separated.');
}

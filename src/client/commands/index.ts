import { type Command, InvalidArgumentError, Option } from 'commander';
import { addSubscriptionCommands } from './subscriptions.ts';

type Env = Record<string, string | undefined>;

/**
 * Adds `search`, `register` and `subscriptions` to the command line; the platform's address and token come from `env`.
 * Commands import their code when they run, so that the receiver starts faster.
 */
export function addClientCommands(program: Command, env: Env): void {
  program
    .command('search')
    .description("search the platform's medical database")
    .argument('<query>', 'search text')
    .option('--limit <number>', 'maximum number of results, 1 to 100', wholeNumber, 10)
    .addOption(new Option('--type <type>', 'what to search for').choices(['drug', 'lab']).default('drug'))
    .option('--json', 'print the response as JSON')
    .action(async (q: string, options: { limit: number; type: 'drug' | 'lab'; json?: true }, command) => {
      const { withClient } = await import('./with-client.ts');
      const { searchTable } = await import('./tables.ts');
      await withClient(command, env, async (client, print) => {
        const found = await client.searchDrugsAndLabs({ q, limit: options.limit, s_type: options.type });
        print(options.json ? JSON.stringify(found.raw, undefined, 2) : searchTable(found));
      });
    });

  program
    .command('register')
    .description('register a health account, step by step')
    .addOption(new Option('--route <route>', 'how to register').choices(['aadhaar', 'mobile']))
    .option('--pt-id <id>', 'X-Pt-Id header')
    .option('--partner-pt-id <id>', 'X-Partner-Pt-Id header')
    .option('--hip-id <id>', 'X-Hip-Id header')
    .option('--show-tokens', 'print tokens of the response')
    .action(async ({ route, showTokens = false, ...headers }, command: Command) => {
      const { withClient } = await import('./with-client.ts');
      const { openPrompt } = await import('./prompt.ts');
      const { register } = await import('./register.ts');
      await withClient(command, env, async (client, print) => {
        const prompt = openPrompt(process.stdin, process.stderr);
        try {
          await register({ client, ask: prompt.ask, tell: print, route, headers, showTokens });
        } finally {
          prompt.close();
        }
      });
    });

  addSubscriptionCommands(program, env);
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

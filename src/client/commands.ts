import { type Command, InvalidArgumentError, Option } from 'commander';

type Env = Record<string, string | undefined>;

/**
 * Adds `search` and `register` to the command line; the service's address and token come from `env`. What a
 * command needs is loaded when it runs, for the receiver starts faster without it.
 */
export function addClientCommands(program: Command, env: Env): void {
  program
    .command('search')
    .description("search the service's medical database")
    .argument('<query>', 'what to search for')
    .option('--limit <number>', 'most results, 1 to 100', wholeNumber, 10)
    .addOption(new Option('--type <type>', 'what to search').choices(['drug', 'lab']).default('drug'))
    .option('--json', "print the service's answer as JSON")
    .action(async (q: string, options: { limit: number; type: 'drug' | 'lab'; json?: true }, command) => {
      const { withClient } = await import('./with-client.ts');
      const { searchTable } = await import('./search-table.ts');
      await withClient(command, env, async (client, print) => {
        const found = await client.searchDrugsAndLabs({ q, limit: options.limit, s_type: options.type });
        print(options.json ? JSON.stringify(found, undefined, 2) : searchTable(found));
      });
    });

  program
    .command('register')
    .description('walk through the registration of a health account')
    .addOption(new Option('--route <route>', 'how to register').choices(['aadhaar', 'mobile']))
    .option('--pt-id <id>', 'X-Pt-Id header')
    .option('--partner-pt-id <id>', 'X-Partner-Pt-Id header')
    .option('--hip-id <id>', 'X-Hip-Id header')
    .option('--show-tokens', "print the answer's tokens too")
    .action(async ({ route, showTokens = false, ...headers }, command: Command) => {
      const { withClient } = await import('./with-client.ts');
      const { openDialogue } = await import('./dialogue.ts');
      const { register } = await import('./register.ts');
      await withClient(command, env, async (client, print) => {
        const dialogue = openDialogue(process.stdin, process.stderr);
        try {
          await register({ client, ask: dialogue.ask, tell: print, route, headers, showTokens });
        } finally {
          dialogue.close();
        }
      });
    });
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

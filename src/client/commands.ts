import { type Command, InvalidArgumentError, Option } from 'commander';
import { InputEnded, openDialogue } from './dialogue.ts';
import {
  RefusedInput,
  Rejected,
  ServiceError,
  Unauthorized,
  Unavailable,
  UnreadableResponse,
} from './errors.ts';
import { register } from './register.ts';
import { searchTable } from './search-table.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';
import { MissingSettings, settingsFrom } from './settings.ts';

type Env = Record<string, string | undefined>;

const exitCodes: [abstract new (...args: never[]) => Error, number][] = [
  // The numbers of sysexits.h.
  [MissingSettings, 78],
  [RefusedInput, 64],
  [Rejected, 65],
  [InputEnded, 65],
  [Unavailable, 69],
  [UnreadableResponse, 76],
  [Unauthorized, 77],
];

/** Adds `search` and `register` to the command line; the service's address and token come from `env`. */
export function addClientCommands(program: Command, env: Env): void {
  program
    .command('search')
    .description("search the service's medical database")
    .argument('<query>', 'what to search for')
    .option('--limit <number>', 'most results, 1 to 100', wholeNumber, 10)
    .addOption(new Option('--type <type>', 'what to search').choices(['drug', 'lab']).default('drug'))
    .option('--json', "print the service's answer as JSON")
    .action(async (q: string, options: { limit: number; type: 'drug' | 'lab'; json?: true }, command) => {
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

async function withClient(
  command: Command,
  env: Env,
  work: (client: ServiceClient, print: (text: string) => void) => Promise<void>,
): Promise<void> {
  let client: ServiceClient | undefined;
  try {
    client = createServiceClient(settingsFrom(env));
    await work(client, (text) => command.configureOutput().writeOut?.(`${text}\n`));
  } catch (error) {
    const exitCode = exitCodes.find(([type]) => error instanceof type)?.[1];
    if (exitCode === undefined) throw error;
    const body = error instanceof ServiceError && error.body ? ` · ${error.body.replaceAll('\n', ' ')}` : '';
    command.error(`${command.name()}: ${(error as Error).message}${body}`, { exitCode });
  } finally {
    await client?.close();
  }
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

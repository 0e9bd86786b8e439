import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type { Contender } from './contenders/contender.ts';
import { contendersOf, notByDefault } from './contenders/index.ts';

export interface BenchOptions {
  /** Seconds of each load. */
  seconds: number;
  rounds: number;
  connections: number;
  /** Seconds of load before the measurement. */
  warmup: number;
  /** Seconds that a queue may take to become empty after its load. */
  drain: number;
  /** Folder for CPU profiles of the service. */
  profile?: string;
  results: string;
}

export interface SideBySideOptions extends BenchOptions {
  contenders: Contender[];
}

const numbers = {
  seconds: 'seconds of each load',
  rounds: 'rounds, each with all contenders',
  connections: 'connections of the load',
  warmup: 'seconds of load before the measurement',
  drain: 'seconds that a queue may take to become empty after its load',
  rate: 'callbacks a second for the response times',
  rows: 'rows of deliveries and of receipts',
  deliveries: 'number of deliveries',
  receipts: 'number of receipts',
  days: 'number of days',
  minutes: 'minutes with the open transaction',
  dead: 'rows that are inserted and deleted under the transaction before the load',
  callbacks: 'callbacks of a contender in a round',
  runs: 'visits of each page',
  patients: 'patients that are exported and erased',
  loads: 'loads before the pass, and after it',
};

/** A command line with numbers, given with their defaults, and the folder for the results. */
export function benchCommand(
  name: string,
  description: string,
  defaults: Partial<Record<keyof typeof numbers, number>>,
): Command {
  const command = new Command(name).description(description);
  for (const [option, value] of Object.entries(defaults))
    command.option(`--${option} <number>`, numbers[option as keyof typeof numbers], positive, value);
  return command.option('--results <folder>', 'folder for the tables', 'bench/results');
}

/** The options of a bench on a database of its own, which is filled first. */
export interface FilledOptions {
  folder: string;
  keep: boolean;
  results: string;
  /** Straight into the tables: receipts of three years, see fill-history.ts. */
  history: boolean;
  businesses: number;
  bodies: number;
}

/** A command line as of `benchCommand`, with `FilledOptions`. */
export const filledCommand = (...[name, ...more]: Parameters<typeof benchCommand>): Command =>
  benchCommand(name, ...more)
    .option(
      '--folder <folder>',
      'folder of the database; a filled one is used again',
      join(tmpdir(), name.replace(':', '-')),
    )
    .option('--keep', 'keep the database for the next run', false)
    .option('--history', 'receipts of three years, written straight into the tables', false)
    .option('--businesses <number>', 'businesses of the history', positive, 200)
    .option('--bodies <number>', 'latest receipts of the history that have a body', positive, 2_000_000);

/** Reads the command line of `npm run bench`. */
export function readOptions(argv: string[]): SideBySideOptions {
  const known = contendersOf({}).map(({ name }) => name);
  const defaults = { seconds: 8, rounds: 3, connections: 64, warmup: 2, drain: 90 };
  const program = benchCommand(
    'bench',
    'Compares the receiver with other ways to receive callbacks',
    defaults,
  )
    .option('--only <names>', `comma-separated, of ${known.join(', ')}; with --against the former ones too`)
    .option(
      '--against <folder>',
      'another version of this service, built; adds former-redis, former-embedded',
    )
    .option('--profile <folder>', 'folder for CPU profiles of the receiver');
  program.parse(argv, { from: 'user' });
  const { only, against, ...options } = program.opts<BenchOptions & { only?: string; against?: string }>();
  const all = contendersOf({ against });
  const names = all.map(({ name }) => name);
  const chosen = only?.split(',') ?? names.filter((name) => !notByDefault.includes(name));
  const unknown = chosen.filter((name) => !names.includes(name));
  if (unknown.length > 0) program.error(`error: there is no contender ${unknown.join(', ')}`);
  return { ...options, contenders: all.filter(({ name }) => chosen.includes(name)) };
}

export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number greater than 0.');
  return value;
}

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

/** Reads the command line of `npm run bench`. */
export function readOptions(argv: string[]): SideBySideOptions {
  const known = contendersOf({}).map(({ name }) => name);
  const program = new Command('bench')
    .description('Compares the receiver with other ways to receive callbacks')
    .option('--seconds <number>', 'seconds of each load', positive, 8)
    .option('--rounds <number>', 'rounds, each with all contenders', positive, 3)
    .option('--connections <number>', 'connections of the load', positive, 64)
    .option('--warmup <number>', 'seconds of load before the measurement', positive, 2)
    .option('--drain <number>', 'seconds that a queue may take to become empty', positive, 90)
    .option('--only <names>', `comma-separated, of ${known.join(', ')}; with --against the former ones too`)
    .option(
      '--against <folder>',
      'another version of this service, built; adds former-redis, former-embedded',
    )
    .option('--profile <folder>', 'folder for CPU profiles of the service')
    .option('--results <folder>', 'folder for the tables', 'bench/results');
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

import { Command, InvalidArgumentError } from 'commander';
import { contenders } from './contenders/index.ts';

export interface BenchOptions {
  /** Seconds of each load. */
  seconds: number;
  rounds: number;
  connections: number;
  /** Seconds of load before the measurement. */
  warmup: number;
  /** Seconds that a queue may take to become empty after its load. */
  drain: number;
  only: string[];
  /** Folder for CPU profiles of the service. */
  profile?: string;
  results: string;
}

/** Reads the command line of `npm run bench`. */
export function readOptions(argv: string[]): BenchOptions {
  const names = contenders.map(({ name }) => name);
  const program = new Command('bench')
    .description('Compares the receiver with other ways to receive callbacks')
    .option('--seconds <number>', 'seconds of each load', positive, 8)
    .option('--rounds <number>', 'rounds, each with all contenders', positive, 3)
    .option('--connections <number>', 'connections of the load', positive, 64)
    .option('--warmup <number>', 'seconds of load before the measurement', positive, 2)
    .option('--drain <number>', 'seconds that a queue may take to become empty', positive, 90)
    .option(
      '--only <names>',
      `comma-separated, of ${names.join(', ')}`,
      (text) => known(text.split(','), names),
      names,
    )
    .option('--profile <folder>', 'folder for CPU profiles of the service')
    .option('--results <folder>', 'folder for the tables', 'bench/results');
  return program.parse(argv, { from: 'user' }).opts<BenchOptions>();
}

export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number greater than 0.');
  return value;
}

function known(chosen: string[], names: string[]): string[] {
  const unknown = chosen.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new InvalidArgumentError(`There is no ${unknown.join(', ')}.`);
  return chosen;
}

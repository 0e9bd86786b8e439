import { Command, InvalidArgumentError } from 'commander';
import { contenders } from './contenders/index.ts';

export interface BenchOptions {
  /** Seconds of each load. */
  seconds: number;
  rounds: number;
  connections: number;
  /** Seconds of load before figures are taken. */
  warmup: number;
  /** Seconds that a queue may take to empty after its load. */
  drain: number;
  only: string[];
  /** Folder for the CPU profiles of our processes. */
  profile?: string;
  results: string;
}

/** Reads the command line of `npm run bench`. */
export function readOptions(argv: string[]): BenchOptions {
  const names = contenders.map(({ name }) => name);
  const program = new Command('bench')
    .description('Runs the receiver side by side with what else could take callbacks in')
    .option('--seconds <number>', 'seconds of each load', positive, 8)
    .option('--rounds <number>', 'interleaved rounds', positive, 3)
    .option('--connections <number>', 'connections of the load', positive, 64)
    .option('--warmup <number>', 'seconds of load before figures are taken', positive, 2)
    .option('--drain <number>', 'seconds that a queue may take to empty', positive, 90)
    .option('--only <names>', `some of ${names.join(', ')}`, (text) => known(text.split(','), names), names)
    .option('--profile <folder>', 'write CPU profiles of our processes there')
    .option('--results <folder>', 'where the tables are written', 'bench/results');
  return program.parse(argv, { from: 'user' }).opts<BenchOptions>();
}

export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

function known(chosen: string[], names: string[]): string[] {
  const unknown = chosen.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new InvalidArgumentError(`There is no ${unknown.join(', ')}.`);
  return chosen;
}

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { positive } from '../options.ts';

export interface ReportsOptions {
  folder: string;
  receipts: number;
  days: number;
  /** Batches of callbacks that are timed; 0: none. */
  batches: number;
  keep: boolean;
  results: string;
}

/** Reads the command line of `npm run bench:reports`. */
export function readOptions(): ReportsOptions {
  return new Command('bench:reports')
    .description('fills a database of its own and times every report, then the intake with and without them')
    .option(
      '--folder <folder>',
      'where the database lies; one that is filled already is used again',
      join(tmpdir(), 'bench-reports'),
    )
    .option('--receipts <number>', 'how many receipts', positive, 5_000_000)
    .option('--days <number>', 'over how many days', positive, 730)
    .option('--batches <number>', 'how many batches of callbacks are timed; 0: none', Number, 600)
    .option('--keep', 'keep the database for another run', false)
    .option('--results <folder>', 'where the tables are written', 'bench/results')
    .parse()
    .opts<ReportsOptions>();
}

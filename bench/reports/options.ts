import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { positive } from '../options.ts';

export interface ReportsOptions {
  folder: string;
  receipts: number;
  days: number;
  /** Timed batches of callbacks; 0: none. */
  batches: number;
  keep: boolean;
  results: string;
}

/** Reads the command line of `npm run bench:reports`. */
export function readOptions(): ReportsOptions {
  return new Command('bench:reports')
    .description(
      'Fills a database and times every report, then the intake with and without their indexes and versions',
    )
    .option(
      '--folder <folder>',
      'folder of the database; a filled one is used again',
      join(tmpdir(), 'bench-reports'),
    )
    .option('--receipts <number>', 'number of receipts', positive, 5_000_000)
    .option('--days <number>', 'number of days', positive, 730)
    .option('--batches <number>', 'timed batches of callbacks; 0: none', Number, 600)
    .option('--keep', 'keep the database for the next run', false)
    .option('--results <folder>', 'folder for the tables', 'bench/results')
    .parse()
    .opts<ReportsOptions>();
}

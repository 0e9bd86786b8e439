import { printable } from '../common/printable.ts';
import { InvalidConfiguration } from '../config/config.ts';
import { TablesRefused } from '../receiver/store/errors.ts';

const EX_CONFIG = 78;

/** Writes why a command has failed; returns its exit code. */
export function reportError(error: unknown): number {
  if (error instanceof InvalidConfiguration) {
    process.stderr.write(`${error.problems.map((problem) => `${problem}\n`).join('')}`);
    return EX_CONFIG;
  }
  process.stderr.write(`receiver: ${printable(explain(error))}\n`);
  // Another database has to be named.
  return error instanceof TablesRefused ? EX_CONFIG : 1;
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause ? `${error.message}: ${explain(error.cause)}` : error.message || error.name;
}

import { type Environment, InvalidConfiguration } from '../common/config/config.ts';
import { messageOf } from '../common/log.ts';
import { printable } from '../common/terminal.ts';
import { tryConnection } from '../embedded/server-process.ts';
import { TablesRefused } from '../receiver/store/errors.ts';

const EX_CONFIG = 78;

/** Writes why a command has failed, and which variable leads to a database that takes no connection; returns its exit code. */
export async function reportError(error: unknown, env: Environment = {}): Promise<number> {
  if (error instanceof InvalidConfiguration) {
    process.stderr.write(`${error.problems.map((problem) => `${problem}\n`).join('')}`);
    return EX_CONFIG;
  }
  process.stderr.write(`receiver: ${printable(explain(error))}\n`);
  for (const name of ['DATABASE_URL', 'DIRECT_DATABASE_URL']) {
    const cause = env[name] && (await tryConnection(env[name]));
    if (!cause) continue;
    const todo = 'start PostgreSQL, make the database, or correct host, port, name, user or password';
    process.stderr.write(`${name}: ${printable(explain(cause))}: ${todo}, see docs/database.md\n`);
  }
  // Another database has to be named.
  return error instanceof TablesRefused ? EX_CONFIG : 1;
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, name, code } = error as NodeJS.ErrnoException;
  const message = messageOf(error);
  if (code === '42501') return `${message}. Migrate as the owner of the database, see docs/database.md`;
  return cause ? `${message}: ${explain(cause)}` : message || code || name;
}

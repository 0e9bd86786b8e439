import { Command } from 'commander';
import { pathsOf } from '../callbacks/families/family.ts';
import { families } from '../callbacks/families/index.ts';
import { MissingSettings } from '../client/settings.ts';
import { InvalidConfiguration, version } from '../common/config/config.ts';
import { findMisspelt } from '../common/config/former-variables.ts';
import { readEnvironment } from '../common/config/read-environment.ts';
import { messageOf } from '../common/log.ts';
import { printable } from '../common/terminal.ts';
import { isUnavailable, TablesRefused } from '../receiver/store/errors.ts';
import { addClientCommands } from './commands/platform.ts';
import { addSandboxCommands } from './commands/sandbox.ts';
import { addHelp } from './help.ts';
import { addFeatureCommands, onCoreOf } from './service.ts';
import { addStartCommands } from './start.ts';

const EX_CONFIG = 78;
const unreachable =
  'DATABASE_URL, DIRECT_DATABASE_URL, REPORT_DATABASE_URL: start PostgreSQL, make the database, or correct host, port, ' +
  'name, user or password, see docs/database.md';
const paths = families.map(pathsOf);
const given = { ...process.env };
const env = await readEnvironment(process.env, paths).catch((error) => process.exit(reportError(error)));

const program = new Command('receiver')
  .description('Receives a health platform’s callbacks and applies them to PostgreSQL.')
  .version(version)
  .showHelpAfterError();
addStartCommands(program, env, () => readEnvironment({ ...given }, paths));
addFeatureCommands(program, onCoreOf(env));
addClientCommands(program, env);
addSandboxCommands(program, env, onCoreOf(env));
addHelp(program);
program.hook('preAction', (_program, command) => {
  for (const line of findMisspelt(env, paths)) process.stderr.write(`receiver: ${printable(line)}\n`);
  // The receiver goes on without a reader of its output.
  if (command.name() === 'start') return;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Its reader, such as head, has enough.
    if (error.code === 'EPIPE') process.exit();
    process.exit(reportError(error));
  });
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
}

function reportError(error: unknown): number {
  if (error instanceof InvalidConfiguration) {
    process.stderr.write(error.problems.map((problem) => `${problem}\n`).join(''));
    return EX_CONFIG;
  }
  process.stderr.write(`receiver: ${printable(explain(error))}\n`);
  if (isUnavailable(error)) process.stderr.write(`${unreachable}\n`);
  // Another database, or settings of the platform, have to be named.
  return error instanceof TablesRefused || error instanceof MissingSettings ? EX_CONFIG : 1;
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, name, code, body } = error as NodeJS.ErrnoException & { body?: string };
  const message = messageOf(error);
  if (code === '42P01')
    return 'The database has no such table: correct DATABASE_URL, or run receiver migrate';
  if (code === '42501') return `${message}. Migrate as the owner of the database, see docs/database.md`;
  if (body) return `${message} · ${body}`;
  return cause ? `${message}: ${explain(cause)}` : message || code || name;
}

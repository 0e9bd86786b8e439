import { Command } from 'commander';
import { pathsOf } from '../callbacks/families/family.ts';
import { families } from '../callbacks/families/index.ts';
import { findMisspelt, refuseFormer, version } from '../common/config/config.ts';
import { readEnvironment } from '../common/config/read-environment.ts';
import { printable } from '../common/terminal.ts';
import { addClientCommands } from './commands/platform.ts';
import { addSandboxCommands } from './commands/sandbox.ts';
import { reportError } from './report-error.ts';
import { addFeatureCommands } from './service.ts';
import { addStartCommands } from './start.ts';

const paths = families.map(pathsOf);
const env = await readEnvironment(process.env, paths).catch(async (error) =>
  process.exit(await reportError(error)),
);

const program = new Command('receiver')
  .description('Receives a health platform’s callbacks and applies them to PostgreSQL.')
  .version(version)
  .showHelpAfterError();
addStartCommands(program, env);
addFeatureCommands(program, env);
// The commands above parse the configuration, and report all its errors at once.
const parsing = program.commands.length;
addClientCommands(program, env);
addSandboxCommands(program, env);
for (const command of program.commands.slice(parsing)) {
  command.hook('preAction', () => refuseFormer(env, paths));
}
program.hook('preAction', () => {
  for (const line of findMisspelt(env, paths)) process.stderr.write(`receiver: ${printable(line)}\n`);
});

program.hook('preAction', (_program, command) => {
  // The receiver goes on without a reader of its output.
  if (command.name() === 'start') return;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Its reader, such as head, has enough.
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = await reportError(error, env);
}

import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { addClientCommands } from './client/commands/index.ts';
import { addServiceCommands } from './commands/index.ts';
import { reportError } from './commands/report-error.ts';
import { printable } from './common/printable.ts';
import { version } from './common/version.ts';
import { findMisspelt } from './config/check-names.ts';
import { refuseFormer } from './config/config.ts';
import { addDoctorCommand } from './diagnostics/index.ts';
import { families } from './families/index.ts';
import { addSandboxCommands } from './sandbox/commands.ts';

if (existsSync('.env')) process.loadEnvFile('.env');

// Before a command, `--path new` stands for the commands of the new path, until it is the only one.
const isNew = process.argv[2] === '--path' && process.argv[3] === 'new';
if (isNew) process.argv.splice(2, 2);

const program = new Command('receiver')
  .description('Receives a health platform’s callbacks and applies them to PostgreSQL.')
  .version(version)
  .showHelpAfterError();
if (isNew) (await import('./service/new-path.ts')).addFeatureCommands(program, process.env);
else {
  addServiceCommands(program, process.env, async () => ({
    ...(await import('./service/service.ts')),
    openPlatform: async () => (await import('./service/open-platform.ts')).openPlatform(process.env),
  }));
  addDoctorCommand(program, process.env);
}
// The commands above parse the configuration, and report all its errors at once.
const parsing = program.commands.length;
addClientCommands(program, process.env);
addSandboxCommands(program, process.env);
for (const command of program.commands.slice(parsing)) {
  command.hook('preAction', () => refuseFormer(process.env, families));
}
program.hook('preAction', (_program, command) => {
  if (!isNew && command.name() === 'doctor') return; // it reports them itself
  for (const line of findMisspelt(process.env, families))
    process.stderr.write(`receiver: ${printable(line)}\n`);
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
  process.exitCode = reportError(error);
}

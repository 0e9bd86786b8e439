import { Command, CommanderError } from 'commander';
import { addClientCommands } from '../../src/app/commands/platform.ts';

/** Runs a command of the client in this process; the result has its output, its errors and its exit code. */
export async function run(env: Record<string, string>, ...args: string[]) {
  const said = { out: '', err: '', code: 0 };
  const program = new Command('receiver')
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        said.out += text;
      },
      writeErr: (text) => {
        said.err += text;
      },
    });
  addClientCommands(program, env);
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error;
    said.code = error.exitCode;
  });
  return said;
}

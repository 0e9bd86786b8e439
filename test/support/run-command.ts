import { Command, CommanderError } from 'commander';
import { addServiceCommands } from '../../src/commands/index.ts';
import { reportError } from '../../src/commands/report-error.ts';
import { openPlatform } from '../../src/service/open-platform.ts';

/**
 * Runs a command of the receiver in this process, in a tenth of the time that a process of its own takes. Commands that start the
 * service or embedded databases, and what they log, need a process.
 *
 * @param env its environment, only
 */
export function runCommand(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const result = last.then(() => run(args, env));
  last = result.catch(() => undefined);
  return result;
}

/** One at a time, because all write to one output. */
let last: Promise<unknown> = Promise.resolve();

async function run(args: readonly string[], env: Record<string, string>) {
  let output = '';
  const take = (text: unknown) => {
    output += text;
    return true;
  };
  const writes = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation(take as never),
  );
  try {
    process.exitCode = undefined;
    const code = await parse(args, env).then(
      () => 0,
      (error) => (error instanceof CommanderError ? error.exitCode : reportError(error)),
    );
    return { code: code || Number(process.exitCode ?? 0), output };
  } finally {
    process.exitCode = undefined;
    for (const write of writes) write.mockRestore();
  }
}

async function parse(args: readonly string[], env: Record<string, string>): Promise<void> {
  const program = new Command('receiver').exitOverride().showHelpAfterError();
  addServiceCommands(program, env, async () => ({ openPlatform: async () => openPlatform(env) }) as never);
  await program.parseAsync(args, { from: 'user' });
}

import { Command } from 'commander';
import type { Core, OnCore } from '../../src/receiver/feature.ts';

/** @returns what is printed meanwhile */
export async function captureOutput(run: () => Promise<unknown>): Promise<string> {
  let output = '';
  const writes = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      output += text;
      return true;
    }),
  );
  await run().finally(() => {
    for (const write of writes) write.mockRestore();
  });
  return output;
}

/** Runs a command of a feature in this process. @returns what it prints */
export const runCommand = (
  core: Core,
  addCommands: (program: Command, onCore: OnCore) => void,
  ...args: string[]
): Promise<string> => runCommandOn((run) => run(core), addCommands, ...args);

/** The same, where opening the core is a part of the test. */
export function runCommandOn(
  onCore: (run: (core: Core) => Promise<void>) => Promise<void>,
  addCommands: (program: Command, onCore: OnCore) => void,
  ...args: string[]
): Promise<string> {
  const program = new Command('receiver').exitOverride();
  addCommands(
    program,
    (run) =>
      (...given) =>
        onCore((core) => run(core, ...given)),
  );
  return captureOutput(() => program.parseAsync(args, { from: 'user' }));
}

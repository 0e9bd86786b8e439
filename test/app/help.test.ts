import { Command } from 'commander';
import { addClientCommands } from '../../src/app/commands/platform.ts';
import { addSandboxCommands } from '../../src/app/commands/sandbox.ts';
import { addHelp } from '../../src/app/help.ts';
import { addFeatureCommands, onCoreOf } from '../../src/app/service.ts';
import { addStartCommands } from '../../src/app/start.ts';

const program = new Command('receiver');
addStartCommands(program, {}, async () => ({}));
addFeatureCommands(program, onCoreOf({}));
addClientCommands(program, {});
addSandboxCommands(program, {}, onCoreOf({}));
addHelp(program);

function helpOf(command: Command): string {
  let text = '';
  const writeOut = (part: string) => {
    text += part;
  };
  for (let at: Command | null = command; at; at = at.parent) at.configureOutput({ writeOut });
  command.outputHelp();
  return text;
}

it('the help lists each command but former names in five groups, each with an example', () => {
  const text = helpOf(program);
  const groups = Array.from(text.matchAll(/^(\w+), for example: npx receiver (\w+)/gm), ([, group]) => group);
  expect(groups).toEqual(['Run', 'Look', 'Move', 'Patients', 'Try']);
  expect(text).not.toContain('Arguments:');
  const listed = Array.from(text.matchAll(/^ {2}([a-z]+) {2,}\S/gm), ([, name]) => name!);
  const names = program.commands.map((command) => command.name()).filter((name) => name !== 'search');
  expect(listed.toSorted()).toEqual([...names, 'help'].toSorted());
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

it('the help of each command has an example that names it, and a subcommand that exists', () => {
  for (const command of program.commands.filter((shown) => shown.name() !== 'search')) {
    const [, name, next] = /^Example: npx receiver (\w+) ?(\w*)/m.exec(helpOf(command))!;
    expect(name).toBe(command.name());
    if (command.commands.length > 0)
      expect(command.commands.map((subcommand) => subcommand.name())).toContain(next);
    // That of another subcommand would mislead.
    for (const subcommand of command.commands) expect(helpOf(subcommand)).not.toContain('Example');
  }
});

import { Command } from 'commander';
import { addCallbackCommands } from '../../../src/callbacks/commands.ts';
import { listQuarantine } from '../../../src/callbacks/quarantine.ts';
import { addClientCommands } from '../../../src/client/commands/index.ts';
import { features } from '../../../src/features.ts';
import { addSandboxCommands } from '../../../src/sandbox/commands.ts';
import { coreOf } from '../support/core.ts';
import { useReceiverDatabase } from '../support/database.ts';
import { openIntake, routeOf } from '../support/intake.ts';
import { runCommand } from '../support/run-command.ts';

const database = useReceiverDatabase();

it('no command of a feature has the name of another one', () => {
  const program = new Command();
  for (const { commands } of features) commands?.(program, () => async () => {});
  addClientCommands(program, {});
  addSandboxCommands(program, {});
  expect(program.commands.map((one) => one.name())).toEqual(
    expect.arrayContaining(['find', 'search', 'send']),
  );
});

it('a command drops the given bodies, and none where nothing selects them', async () => {
  const core = coreOf(database);
  const intake = openIntake(database);
  for (const body of ['{', '[']) await intake.receive(Buffer.from(body), routeOf('receipt')).catch(() => {});
  await intake.close();
  const run = (...args: string[]) => runCommand(core, addCallbackCommands, 'quarantine', ...args);
  await expect(run('drop')).rejects.toThrow('Select bodies, or use --all');
  await expect(run('list', '--limit', 'x')).rejects.toThrow('A number of rows must be a whole number');
  const [first, second] = await listQuarantine(core, {});
  await database.rows('update receiver.quarantine set replayed_at = now() where id = $1', [first!.id]);
  await run('drop', '--all');
  expect(await listQuarantine(core, { replayed: true })).toMatchObject([{ id: first!.id }]);
  await run('drop', first!.id, second!.id);
  expect(await listQuarantine(core, { replayed: true })).toEqual([]);
  expect(await database.rows('select action, rows from public.access_log order by entry')).toEqual([
    { action: 'quarantine drop', rows: 1 },
    { action: 'quarantine drop', rows: 1 },
  ]);
});

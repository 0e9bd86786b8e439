import type { Command } from 'commander';
import type { Environment } from './environment.ts';
import { addMigrateCommand } from './migrate.ts';
import { addQuarantineCommand } from './quarantine.ts';
import { addReplayCommand } from './replay.ts';
import { addSqlCommand } from './sql.ts';
import { addStartCommand } from './start.ts';

/** The commands of the receiver itself. */
export function addServiceCommands(program: Command, env: Environment): void {
  addStartCommand(program, env);
  addMigrateCommand(program, env);
  addReplayCommand(program, env);
  addQuarantineCommand(program, env);
  addSqlCommand(program, env);
}

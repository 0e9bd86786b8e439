import type { Command } from 'commander';
import { addMigrateCommand } from './migrate.js';
import { addSqlCommand } from './sql.js';
import { addStartCommand } from './start.js';

export type Environment = Record<string, string | undefined>;

/** The commands of the receiver itself. */
export function addServiceCommands(program: Command, env: Environment): void {
  addStartCommand(program, env);
  addMigrateCommand(program, env);
  addSqlCommand(program, env);
}

import type { Command } from 'commander';
import { addMigrateCommand } from './migrate.ts';
import { addSqlCommand } from './sql.ts';
import { addStartCommand } from './start.ts';

export type Environment = Record<string, string | undefined>;

/** The commands of the receiver itself. */
export function addServiceCommands(program: Command, env: Environment): void {
  addStartCommand(program, env);
  addMigrateCommand(program, env);
  addSqlCommand(program, env);
}

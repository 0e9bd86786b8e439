import type { Command } from 'commander';
import type { Environment } from '../config.ts';
import { addMigrateCommand } from './migrate.ts';
import { addQuarantineCommand } from './quarantine.ts';
import { addReplayCommand } from './replay.ts';
import { addSqlCommand } from './sql.ts';
import { addStartCommand, type Contract } from './start.ts';

/**
 * The commands of the receiver itself.
 *
 * @param contract makes the OpenAPI document, which describes the client's operations too
 */
export function addServiceCommands(program: Command, env: Environment, contract: Contract): void {
  addStartCommand(program, env, contract);
  addMigrateCommand(program, env);
  addReplayCommand(program, env);
  addQuarantineCommand(program, env);
  addSqlCommand(program, env);
}

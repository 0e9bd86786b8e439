import type { Command } from 'commander';
import type { Environment } from '../config/config.ts';
import { addAlertsCommand } from './alerts.ts';
import { addAliasesCommand } from './aliases.ts';
import { addAuditCommand } from './audit.ts';
import { addDestinationsCommand } from './destinations.ts';
import { addMoveCommand } from './move.ts';
import { addPatientCommand } from './patient.ts';
import { addQuarantineCommand } from './quarantine.ts';
import { addReconcileCommand } from './reconcile.ts';
import { addReplayCommand } from './replay.ts';
import { addRetentionCommand } from './retention.ts';
import { addSqlCommand } from './sql.ts';
import { addStartCommands, type ServiceModule } from './start.ts';

export function addServiceCommands(
  program: Command,
  env: Environment,
  load: () => Promise<ServiceModule>,
): void {
  addStartCommands(program, env, load);
  addReplayCommand(program, env);
  addReconcileCommand(program, env, async () => (await load()).openPlatform());
  addQuarantineCommand(program, env);
  addPatientCommand(program, env);
  addRetentionCommand(program, env);
  addSqlCommand(program, env);
  addAuditCommand(program, env);
  addAlertsCommand(program, env);
  addAliasesCommand(program, env);
  addDestinationsCommand(program, env);
  addMoveCommand(program, env);
}

import { startAlerts } from '../alerts/start-alerts.ts';
import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Problem } from '../health/problem.ts';
import { watchLogHead } from '../privacy/log/watch-head.ts';
import type { OnStop, Stores } from './open-stores.ts';

interface AlertParts {
  stores: Stores;
  problems: () => Promise<readonly Problem[]>;
  log: Log;
}

/** Alerts, where a channel is configured. */
export function openAlerts(
  config: Config,
  { stores, problems, log }: AlertParts,
  onStop: OnStop,
): ReturnType<typeof startAlerts> | undefined {
  if (!config.alerts.webhookUrl && !config.alerts.email) return undefined;
  const { database, circuit, backend } = stores;
  const alerts = startAlerts({
    config,
    db: database.db,
    isWorker: config.role !== 'receiver',
    problems,
    circuit,
    queueCircuit: backend.circuit,
    rival: () => backend.fallback?.rival,
    lostHead: watchLogHead(database.db),
    log,
  });
  onStop(alerts.stop);
  return alerts;
}

import type { Server } from 'node:net';
import { startAlerts } from '../alerts/start-alerts.ts';
import type { Log } from '../common/log.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Config } from '../config/config.ts';
import { startDestinations } from '../destinations/start-destinations.ts';
import { findClockDifference } from '../health/clock.ts';
import { createHeartbeat, startHeartbeat } from '../health/heartbeat.ts';
import { createRejections } from '../health/rejections.ts';
import { createFindUndrained } from '../health/undrained.ts';
import { describeUnsafe } from '../health/unsafe-fallback.ts';
import { watchProblems } from '../health/watch-problems.ts';
import { type AppDependencies, createApp } from '../http/app.ts';
import { listen } from '../http/server.ts';
import { createAcknowledged } from '../intake/acknowledged.ts';
import { startFindLost } from '../intake/find-lost.ts';
import { createIntake } from '../intake/intake.ts';
import { createScrape } from '../metrics/scrape.ts';
import { copyEntriesTo } from '../privacy/log/access-log.ts';
import { createAccess } from '../receiver/http/access.ts';
import type { OnStop } from '../receiver/receiver.ts';
import { recordUptime } from '../store/uptime.ts';
import type { DailyPlatform } from '../worker/reconciliation.ts';
import { startWorker } from '../worker/worker.ts';
import { healthChecks } from './health-checks.ts';
import { openLimits, openTokens } from './open-access.ts';
import { openStores, type Stores } from './open-stores.ts';
import { startParts } from './start-parts.ts';
import { type Families, startReceiver } from './start-receiver.ts';

export { preparePort } from '../http/prepare-port.ts';
export { openNewPath } from './new-path.ts';
export { prepareTables } from './prepare-database.ts';

export type Service = Awaited<ReturnType<typeof startService>>;

export interface StartOptions {
  /** A server that listens on the port already, see `preparePort`; undefined: the port is opened at the end. */
  reserved?: Server | undefined;
  /** Opens what is compared with the platform; used where RECONCILE is set. */
  openPlatform?: () => Promise<DailyPlatform>;
  /** Aborts the start. */
  signal?: AbortSignal;
}

/**
 * Starts the parts of the role, and returns when they are ready.
 *
 * @param families the event families to receive
 * @returns `url`: its address; `stop` completes requests and jobs in progress, then closes everything
 * @throws the first error, or the signal's reason; the parts that were started are stopped before
 */
export async function startService(config: Config, families: Families, log: Log, options: StartOptions = {}) {
  copyEntriesTo(log);
  return startParts((onStop) => start(config, families, log, options, onStop), log, options.signal);
}

/** Opens the parts in order; `onStop` closes them in reverse. */
async function start(
  config: Config,
  families: Families,
  log: Log,
  { openPlatform, reserved }: StartOptions,
  onStop: OnStop,
): Promise<string> {
  const stores = await openStores(config, log, onStop);
  const { connections, database, inboxPool, circuit, clock, backend, queue } = stores;
  const { db, pool } = database;
  const { enqueue } = queue;
  const { fallback } = backend;
  const acknowledged = createAcknowledged();
  const intake = createIntake({
    config,
    families,
    pool,
    inboxPool,
    clock,
    circuit,
    enqueue,
    fallback: config.redisFallback === 'off' ? undefined : fallback,
    acknowledged,
    log,
  });
  onStop(intake.close);
  if (fallback) onStop(startFindLost({ db, circuit, fallback, acknowledged, log }).stop);

  const rejections = createRejections();
  const findUndrained = createFindUndrained(fallback, circuit);
  const findOwn = async () => [
    ...(await findClockDifference(clock)),
    ...(await findUndrained()),
    ...rejections.find(),
    ...(fallback?.state && !fallback.circuit.isOpen ? describeUnsafe(fallback.state) : []),
  ];
  const problems = watchProblems(pool, circuit, log, findOwn);
  onStop(problems.stop);
  const alerts = openAlerts(config, stores, problems, log);
  if (alerts) onStop(alerts.stop);
  const worker =
    config.role === 'receiver'
      ? undefined
      : startWorker({
          ...stores,
          config,
          families,
          db,
          concurrency: connections.applying,
          intake,
          openPlatform,
          onRetained: alerts?.retained,
          log,
        });
  if (worker) onStop(worker.stop);
  if (worker) onStop(startDestinations({ db, families, config, circuit, log }).stop);

  const limits = openLimits(config);
  const access = createAccess({ config, rejections: limits.rejections, clock, log });
  const health = healthChecks({ ...stores, worker, access, problems: problems.read });
  const tokens = openTokens(config, limits, db, log);
  const sources = { pool, backend, problems: problems.read, log };
  const metrics = tokens.metrics && {
    access: tokens.metrics,
    scrape: createScrape(sources, config.metricsCacheMs),
  };
  const served = { health, admin: tokens.admin, metrics, reserved, log };
  if (config.role === 'worker') return serveWorker(config, served, onStop);

  const onRejected = rejections.count;
  const parts = { stores, intake, problems: problems.read, limits, access, onRejected };
  const url = await startReceiver(config, families, { ...parts, ...served }, onStop);
  onStop(startHeartbeat(heartbeatOf(stores), log).stop);
  return url;
}

// Nobody waits for it; a busy server is no outage.
const heartbeatTimeoutMs = 5_000;

const heartbeatOf = ({ database: { db }, circuit, backend }: Stores) =>
  createHeartbeat({
    circuit,
    fallbackAccepts: async () =>
      backend.fallback !== undefined &&
      (await backend.circuit.check()) &&
      (await backend.fallback.readState()).acknowledges,
    record: (time) => withTimeout(heartbeatTimeoutMs, recordUptime(db, time)),
  });

/** Opens the port of a worker: health and metrics. @returns the address */
async function serveWorker(
  config: Config,
  { reserved, ...served }: Omit<AppDependencies, 'callbacks'> & Pick<StartOptions, 'reserved'>,
  onStop: OnStop,
): Promise<string> {
  const callbacks = new Map();
  const app = createApp({ ...served, callbacks });
  // Nobody sends callbacks there.
  const server = await listen(app, callbacks, { ...config, drainMs: 0 }, { reserved });
  onStop(server.stop);
  return server.url;
}

/** Alerts, where a channel is configured. */
function openAlerts(
  config: Config,
  { database: { db }, circuit, backend }: Stores,
  problems: ReturnType<typeof watchProblems>,
  log: Log,
) {
  if (!config.alerts.webhookUrl && !config.alerts.email) return undefined;
  return startAlerts({
    config,
    db,
    isWorker: config.role !== 'receiver',
    problems: problems.read,
    circuit,
    queueCircuit: backend.circuit,
    fallback: backend.fallback,
    rival: () => backend.fallback?.rival,
    log,
  });
}

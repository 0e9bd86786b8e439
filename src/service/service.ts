import { once } from 'node:events';
import type { Server } from 'node:net';
import { startAlerts } from '../alerts/start-alerts.ts';
import type { Log } from '../common/log.ts';
import { joinObservers } from '../common/observer.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Config } from '../config/config.ts';
import { startDestinations } from '../destinations/start-destinations.ts';
import { findClockDifference } from '../health/clock.ts';
import { createHeartbeat, startHeartbeat } from '../health/heartbeat.ts';
import { createFindUndrained } from '../health/undrained.ts';
import { describeUnsafe } from '../health/unsafe-fallback.ts';
import { watchProblems } from '../health/watch-problems.ts';
import { createAccessChecks } from '../http/access/access-checks.ts';
import { serveMetrics } from '../http/metrics-server.ts';
import { createRequestLog } from '../http/request-log.ts';
import { createAcknowledged } from '../intake/acknowledged.ts';
import { startFindLost } from '../intake/find-lost.ts';
import { createIntake } from '../intake/intake.ts';
import { defineMetrics } from '../metrics/definitions.ts';
import { metricsObserver } from '../metrics/metrics-observer.ts';
import { createScrape } from '../metrics/scrape.ts';
import { copyEntriesTo } from '../privacy/log/access-log.ts';
import { recordUptime } from '../store/uptime.ts';
import type { DailyPlatform } from '../worker/reconciliation.ts';
import { startWorker } from '../worker/worker.ts';
import { healthChecks } from './health-checks.ts';
import { openLimits, openTokens } from './open-access.ts';
import { type OnStop, openStores, type Stores } from './open-stores.ts';
import { type Families, startReceiver } from './start-receiver.ts';

export { preparePort } from '../http/prepare-port.ts';
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
 * @returns `url`: its address, undefined for a worker; `stop` completes requests and jobs in progress, then closes everything
 * @throws the first error, or the signal's reason; the parts that were started are stopped before
 */
export async function startService(config: Config, families: Families, log: Log, options: StartOptions = {}) {
  copyEntriesTo(log);
  const closers: (() => Promise<void>)[] = [];
  const stop = async () => {
    const errors: unknown[] = [];
    while (closers.length > 0) await closers.pop()!().catch((error) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'The receiver did not stop cleanly.');
  };
  closers.push(async () => log.writeCounts());
  const { signal } = options;
  const onStop: OnStop = (close) => {
    closers.push(close);
    // Opened after the stop had begun.
    if (signal?.aborted)
      void stop().catch((error) => log.error({ err: error }, 'the receiver did not stop cleanly'));
    signal?.throwIfAborted();
  };
  try {
    const started = start(config, families, log, options, onStop);
    return { url: await (signal ? Promise.race([started, aborted(signal)]) : started), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @throws the signal's reason, once it is aborted */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

/** Opens the parts in order; `onStop` closes them in reverse. */
async function start(
  config: Config,
  families: Families,
  processLog: Log,
  { openPlatform, reserved }: StartOptions,
  onStop: OnStop,
): Promise<string | undefined> {
  const tracing = await startTracing(config, families, processLog);
  if (tracing) onStop(tracing.stop);
  const log = tracing?.log ?? processLog;
  const metrics = openMetrics(config, families, tracing !== undefined);
  const requests = config.requestLog ? createRequestLog(log, config.authentication.trustProxy) : undefined;
  const observe = joinObservers(
    metrics && metricsObserver(metrics, tracing?.exemplarOf),
    tracing?.observer,
    requests?.observer,
  );

  const stores = await openStores(config, log, observe, onStop);
  const { connections, database, inboxPool, circuit, clock, backend, queue, pendingSince } = stores;
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
    observe,
    log,
  });
  onStop(intake.close);
  if (fallback) onStop(startFindLost({ db, circuit, fallback, acknowledged, log }).stop);

  const findUndrained = createFindUndrained(fallback, circuit);
  const findOwn = async () => [
    ...(await findClockDifference(clock)),
    ...(await findUndrained()),
    ...(fallback?.state && !fallback.circuit.isOpen ? describeUnsafe(fallback.state) : []),
  ];
  const problems = watchProblems(pool, circuit, log, findOwn, pendingSince);
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
          observe: joinObservers(observe, alerts?.observer),
          log,
        });
  if (worker) onStop(worker.stop);
  if (worker) onStop(startDestinations({ db, families, config, circuit, observe, log }).stop);

  const limits = openLimits(config);
  const access = createAccessChecks({ config, limits, clock, log });
  const health = healthChecks({ ...stores, worker, access, problems: problems.read });
  const tokens = openTokens(config, limits, db, log);
  const scrape =
    metrics && createScrape(metrics, { pool, pendingSince, queue, backend, log }, config.metrics.cacheMs);
  const scraped = tokens.metrics && scrape && { access: tokens.metrics, scrape };
  onStop(await serveMetrics({ health, admin: tokens.admin, metrics: scraped, requests, log }, config));
  if (config.role === 'worker') return undefined;

  const parts = { stores, intake, problems: problems.read, limits, access, health, requests, observe, log };
  const url = await startReceiver(
    config,
    families,
    { ...parts, admin: tokens.admin, metrics: scraped, reserved },
    onStop,
  );
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

/** Loads nothing of OpenTelemetry unless it is on. */
async function startTracing({ tracing, redisUrl }: Config, families: Families, log: Log) {
  if (!tracing) return undefined;
  const { openTracing } = await import('../tracing/open-tracing.ts');
  const events = new Set(families.flatMap((family) => family.events));
  return openTracing(tracing, { events, queue: redisUrl ? 'redis' : 'postgresql', log });
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

/** Metrics, where a token may read them. */
function openMetrics({ metricsToken, adminToken }: Config, families: Families, enableExemplars: boolean) {
  if (!(metricsToken ?? adminToken)) return undefined;
  return defineMetrics(
    families.map(({ name }) => name),
    { enableExemplars },
  );
}

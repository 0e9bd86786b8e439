import { once } from 'node:events';
import type { Server } from 'node:net';
import { startAlerts } from '../alerts/start-alerts.ts';
import type { Log } from '../common/log.ts';
import { type RateLimit, rateLimit } from '../common/rate-limit.ts';
import { readiness } from '../common/readiness.ts';
import type { Config } from '../config/config.ts';
import { createConsole, openSessionStore } from '../console/index.ts';
import { type Family, takesEveryEvent } from '../families/index.ts';
import type { Problem } from '../health/problem.ts';
import { createFindUndrained } from '../health/undrained.ts';
import { watchProblems } from '../health/watch-problems.ts';
import { configuredChecks, createAccessChecks, describeWeakKeys } from '../http/access/access-checks.ts';
import { createTokenAccess } from '../http/admin.ts';
import { createApp } from '../http/app.ts';
import { BodyBudget } from '../http/body-budget.ts';
import { createCallbackHandler, type HttpObserver } from '../http/callback-handler.ts';
import { serveMetrics } from '../http/metrics-server.ts';
import { RejectedRequests } from '../http/rejected-requests.ts';
import { createRequestLog } from '../http/request-log.ts';
import { listen } from '../http/server.ts';
import { sendTestCallback, testCallback } from '../http/test-callback.ts';
import { Intake, type IntakeObserver } from '../intake/intake.ts';
import { defineMetrics } from '../metrics/definitions.ts';
import { joinObservers, observersOf } from '../metrics/observers.ts';
import { createScrape } from '../metrics/scrape.ts';
import { logAccess } from '../privacy/log/access-log.ts';
import { watchLogHead } from '../privacy/log/watch-head.ts';
import { connectRedis } from '../queue/redis.ts';
import { keyPrefix } from '../queue/redis-backend.ts';
import { endSession } from '../store/sessions.ts';
import type { WorkerObserver } from '../worker/apply-job.ts';
import type { RetentionObserver } from '../worker/retention.ts';
import { startWorker } from '../worker/worker.ts';
import { healthChecks } from './health-checks.ts';
import { type OnStop, openStores, type Stores } from './open-stores.ts';

export { preparePort } from '../http/prepare-port.ts';
export { prepareTables } from './prepare-database.ts';

export interface Service {
  /** Its address; undefined for a worker. */
  url: string | undefined;
  /** Completes requests and jobs in progress, then closes everything. */
  stop: () => Promise<void>;
}

type Families = readonly [Family, ...Family[]];

export interface StartOptions {
  /** Creates the document of /openapi.json; undefined: not served. */
  openapi?: () => Promise<object>;
  /** A server that listens on the port already, see `preparePort`; undefined: the port is opened at the end. */
  reserved?: Server | undefined;
  /** Aborts the start. */
  signal?: AbortSignal;
}

/**
 * Starts the parts of the role, and returns when they are ready.
 *
 * @param families the event families to receive
 * @throws the first error, or the signal's reason; the parts that were started are stopped before
 */
export async function startService(
  config: Config,
  families: Families,
  log: Log,
  options: StartOptions = {},
): Promise<Service> {
  const closers: (() => Promise<void>)[] = [];
  const stop = async () => {
    const errors: unknown[] = [];
    while (closers.length > 0) await closers.pop()!().catch((error) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'The service did not stop cleanly.');
  };
  closers.push(async () => log.writeCounts());
  const { signal } = options;
  const onStop: OnStop = (close) => {
    closers.push(close);
    // Opened after the stop had begun.
    if (signal?.aborted)
      void stop().catch((error) => log.error({ err: error }, 'the service did not stop cleanly'));
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
  { openapi, reserved }: StartOptions,
  onStop: OnStop,
): Promise<string | undefined> {
  const { adminToken, role } = config;
  const { trustProxy } = config.authentication;
  const tracing = await startTracing(config, families, processLog);
  if (tracing) onStop(tracing.stop);
  const log = tracing?.log ?? processLog;
  const names = families.map(({ name }) => name);
  const metrics =
    (config.metricsToken ?? adminToken)
      ? defineMetrics(names, { enableExemplars: tracing !== undefined })
      : undefined;
  const observe = metrics && observersOf(metrics, tracing?.exemplarOf);
  const traced = tracing?.observe;
  const requests = config.requestLog ? createRequestLog(log, trustProxy) : undefined;

  const stores = await openStores(config, log, observe?.circuit, onStop);
  const { connections, database, databaseUrl, inboxPool, circuit, backend, queue } = stores;
  const { db, pool } = database;
  const common = { config, families, circuit, log };

  const { enqueue } = queue;
  const { fallback } = backend;
  const observeIntake = joinObservers<IntakeObserver>(observe?.intake, traced?.intake);
  const intake = new Intake({ ...common, pool, inboxPool, enqueue, fallback, observe: observeIntake });
  onStop(() => intake.close());

  const problems = watchProblems(pool, circuit, log, createFindUndrained(fallback, circuit));
  onStop(problems.stop);
  const alerts = openAlerts(config, stores, problems.read, log, onStop);
  const worker =
    role === 'receiver'
      ? undefined
      : startWorker({
          ...common,
          db,
          applying: stores.applying,
          concurrency: connections.applying,
          backend,
          queue,
          intake,
          observe: joinObservers<WorkerObserver>(observe?.worker, traced?.worker),
          observeRetention: joinObservers<RetentionObserver>(observe?.retention, alerts?.retention),
        });
  if (worker) onStop(worker.stop);

  const limits = openLimits(config, onStop);
  const access = createAccessChecks({ config, limits, log });
  const health = healthChecks({ circuit, backend, queue, worker, access, problems: problems.read });
  const tokens = openTokens(config, limits, stores, log);
  const admin = tokens.admin && { access: tokens.admin, openapi };
  const scrape = metrics && createScrape(metrics, { pool, queue, backend, log }, config.metrics.cacheMs);
  const scraped = tokens.metrics && scrape && { access: tokens.metrics, scrape };
  onStop(await serveMetrics({ health, admin, metrics: scraped, requests, log }, config));
  if (role === 'worker') return undefined;

  const rejected = new RejectedRequests(pool, circuit, log);
  onStop(() => rejected.close());
  const observeHttp = joinObservers<HttpObserver>(
    observe?.http,
    traced?.http,
    requests?.observe,
    rejected.observe,
  );
  const bodies = new BodyBudget(config.limits.bodies);
  const receiver = { config, access, bodies, intake, observe: observeHttp, log };
  const callbacks = new Map(
    families.flatMap((family) =>
      config.paths[family.name]!.map(
        (path) => [path, createCallbackHandler({ family, path }, receiver)] as const,
      ),
    ),
  );
  log.info({ checks: access.describe() }, 'access checks of callbacks');
  const weakKeys = describeWeakKeys(config.authentication);
  if (weakKeys) log.warn(weakKeys);
  const unserved = families.filter(({ name }) => config.paths[name]!.length === 0);
  if (unserved.length > 0) {
    const variables = unserved.map(({ path }) => path.variable);
    log.warn({ variables }, 'not served: only an unguessable path protects callbacks, and these are not set');
  }

  const { oidc, paths } = config;
  const [testPath] = families.flatMap((family) => (takesEveryEvent(family) ? paths[family.name]! : []));
  const webConsole =
    (adminToken ?? oidc) &&
    createConsole({
      adminToken,
      oidc,
      attempts: limits.signIns,
      sessionStore: openSessionStore(pool, (session) => endSession(db, session), log),
      publicUrl: config.publicUrl,
      searches: limits.searches,
      trustProxy,
      timezone: config.reportTimezone,
      databaseUrl,
      databaseSchema: config.databaseSchema,
      connections,
      families,
      erasure: config.erasure,
      pageTimeoutMs: config.pageTimeoutMs,
      downloads: config.downloads,
      readiness: () => readiness(health),
      problems: problems.read,
      circuit,
      fallback,
      receiver: {
        checks: configuredChecks(config),
        paths: Object.fromEntries(
          families.flatMap(({ name, path }) => {
            const [first] = path.isBasic ? paths[name]! : [];
            return first ? [[name.replaceAll('_', ' '), first]] : [];
          }),
        ),
        testPath,
        testBody: () => testCallback(config),
        signatureHeader: config.authentication.signingKeys[0] && config.authentication.signatureHeader,
        sendTest: () => sendTestCallback(config, testPath!, server.url),
      },
      intake,
      queue,
      log,
    });
  if (webConsole) onStop(webConsole.close);

  const { handle } = webConsole || {};
  const app = createApp({
    ...{ callbacks, health, admin, metrics: scraped, console: handle },
    ...{ observe: observeHttp, log },
  });
  const server = await listen(app, callbacks, config, { reserved, requests, log });
  onStop(server.stop);
  return server.url;
}

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
  { database, circuit, backend }: Stores,
  problems: () => Promise<readonly Problem[]>,
  log: Log,
  onStop: OnStop,
) {
  if (!config.alerts.webhookUrl && !config.alerts.email) return undefined;
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

/** Who may read metrics, and what administrators read without the console. */
function openTokens(
  { adminToken, metricsToken, metrics, role, authentication: { trustProxy } }: Config,
  limits: ReturnType<typeof openLimits>,
  { database: { db } }: Stores,
  log: Log,
) {
  if (adminToken && !metricsToken && (role !== 'worker' || metrics.port !== undefined)) {
    log.warn('METRICS_TOKEN is not set: ADMIN_TOKEN, which opens patients’ data, is what a scraper needs');
  }
  const onWrong = (address: string) => {
    const filter = { with: 'admin token', reason: 'wrong token', as: 'bearer' };
    logAccess(db, { actor: { id: 'unknown', address }, action: 'sign-in failed', filter }).catch((err) =>
      log.limited('error', {}, 'the access log cannot be written', { err }),
    );
  };
  const accessOf = (token: string, name: string, attempts: RateLimit) =>
    createTokenAccess({
      ...{ token, name, attempts, trustProxy },
      ...(token === adminToken && { onWrong }),
    });
  const forMetrics = metricsToken ?? adminToken;
  const nameForMetrics = metricsToken ? 'METRICS_TOKEN' : 'admin token';
  return {
    admin: adminToken ? accessOf(adminToken, 'admin token', limits.adminTokens) : undefined,
    metrics: forMetrics ? accessOf(forMetrics, nameForMetrics, limits.scrapes) : undefined,
  };
}

/** How often something may happen; receivers count together where there is Redis. */
function openLimits(config: Config, onStop: OnStop) {
  const { requestsPerSecond, rejectionsPerMinute } = config.limits;
  const redis = config.redisUrl ? connectRedis(config.redisUrl, 'producer') : undefined;
  redis?.on('error', () => {}); // without Redis, each process counts in memory
  onStop(async () => redis?.disconnect());
  const prefix = keyPrefix(config.queuePrefix);
  const failures = (name: string) => rateLimit(`${prefix}:${name}`, { points: 10, durationS: 300 }, redis);
  return {
    requests: requestsPerSecond
      ? rateLimit(`${prefix}:requests`, { points: requestsPerSecond, durationS: 1 }, redis)
      : undefined,
    rejections: rateLimit(`${prefix}:rejections`, { points: rejectionsPerMinute, durationS: 60 }, redis),
    // Apart, so that wrong tokens of one kind use up no attempts of another.
    signIns: { 'admin token': failures('sign-ins'), 'identity provider': failures('provider-sign-ins') },
    adminTokens: failures('admin-tokens'),
    scrapes: failures('scrapes'),
    searches: rateLimit(`${prefix}:searches`, { points: 30, durationS: 60 }, redis),
  };
}

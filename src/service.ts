import { once } from 'node:events';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import { createConsole } from './console/index.ts';
import { envelopeSchema, type Family } from './families/index.ts';
import { healthParts } from './health-checks.ts';
import { countAttempts, isFromAdmin, requireAdmin } from './http/admin.ts';
import { type AdminParts, createApp } from './http/app.ts';
import { BodyBudget } from './http/body-budget.ts';
import { createCallbackHandler, type Handler } from './http/callback-handler.ts';
import { describeDoor } from './http/access/describe-access.ts';
import { createDoor } from './http/access/access-checks.ts';
import { watchForwarded } from './http/access/forwarded.ts';
import { rateLimit } from './rate-limit.ts';
import { readiness } from './readiness.ts';
import { serveMetrics } from './http/metrics-server.ts';
import { listen } from './http/server.ts';
import { Drift } from './intake/drift.ts';
import { Inbox } from './intake/inbox.ts';
import { openInboxDatabase } from './intake/inbox-database.ts';
import { Quarantine } from './intake/quarantine.ts';
import type { Log } from './log.ts';
import { createMetrics } from './metrics/index.ts';
import { prepareDatabase } from './prepare-database.ts';
import type { QueueBackend } from './queue/backend.ts';
import { checkRedis } from './queue/check-redis.ts';
import { DeliveryQueue } from './queue/delivery-queue.ts';
import type { FallbackStream } from './queue/fallback-stream.ts';
import { postgresBackend } from './queue/postgres-backend.ts';
import { connectRedis } from './queue/redis.ts';
import { keyPrefix, redisBackend } from './queue/redis-backend.ts';
import type { Circuit } from './store/circuit.ts';
import { type CircuitParts, databaseCircuit } from './store/circuits.ts';
import { openDatabase } from './store/database.ts';
import { startEmbeddedPostgres } from './store/embedded/index.ts';
import { countDeliveries, replayDeliveries } from './apply/replay.ts';
import { startWorker } from './worker/worker.ts';

export interface Service {
  /** Where it listens; undefined for a worker. */
  url: string | undefined;
  /** Finishes what is in flight, then closes everything that was opened. */
  stop: () => Promise<void>;
}

type Closer = () => Promise<void>;

const openingMs = 2_000;
const describeEveryMs = 500;

export interface StartOptions {
  /** Makes what is served at /openapi.json, if anything. */
  contract?: () => Promise<object>;
  /** The port of HOST that was taken before; left out: it is taken at the end. */
  reserved?: Server | undefined;
  /** Ends the start, whatever it waits for. */
  signal?: AbortSignal;
}

/**
 * Starts what the role needs, and returns when it is ready.
 *
 * @param families the event families to take in
 * @throws the error of what could not be started, or the signal's reason; what was started by then is stopped
 */
export async function startService(
  config: Config,
  families: readonly [Family, ...Family[]],
  log: Log,
  options: StartOptions = {},
): Promise<Service> {
  const closers: Closer[] = [];
  const stop = async () => {
    const errors: unknown[] = [];
    while (closers.length > 0) await closers.pop()!().catch((error) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'Not everything could be closed.');
  };
  const { signal } = options;
  const onStop = (closer: Closer) => {
    closers.push(closer);
    // What it waited for came after the stop had begun.
    if (signal?.aborted)
      void stop().catch((error) => log.error({ err: error }, 'not everything could be closed'));
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

/** @throws the signal's reason, once there is one */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

/** What is opened last is closed first. */
async function start(
  config: Config,
  families: readonly [Family, ...Family[]],
  log: Log,
  { contract, reserved }: StartOptions,
  onStop: (closer: Closer) => void,
): Promise<string | undefined> {
  const receives = config.role !== 'worker';
  const works = config.role !== 'receiver';
  const { adminToken, authentication, metrics, quarantine: quarantineLimits } = config;
  const { trustProxy } = authentication;

  // The stores.
  if (config.redisUrl) await checkRedis(config.redisUrl, config.queuePrefix, log);
  const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, log, onStop));
  const preparation = await prepareDatabase(databaseUrl, config, log);
  onStop(preparation.stop);
  const name = `receiver ${config.role}`;
  const database = openDatabase(databaseUrl, log, {
    connections: 10,
    name,
    queryTimeoutMs: 30_000,
    // A table that somebody has locked must not hold up the others.
    settings: { lock_timeout: 5_000 },
  });
  onStop(database.close);
  const { db, pool } = database;
  const inboxDatabase = openInboxDatabase(databaseUrl, log);
  onStop(inboxDatabase.close);
  const instruments = adminToken ? createMetrics(families) : undefined;
  const observe = instruments?.observe;
  const circuitParts = { log, observe: observe?.circuit };
  const circuit = databaseCircuit(inboxDatabase.pool, circuitParts);
  onStop(async () => circuit.close());
  for (const { pool } of [database, inboxDatabase]) {
    pool.on('error', (error) => void circuit.suspect(error));
  }
  const backend = openBackend(config, databaseUrl, preparation.databaseId, circuit, circuitParts);
  onStop(backend.close);
  const { fallback } = backend;
  const queue = new DeliveryQueue(backend, log);
  onStop(() => queue.close());
  // The first deliveries need not wait for the sweep where the queue's store answers.
  await Promise.race([queue.opening, sleep(openingMs, undefined, { ref: false })]);
  const enqueue = (ids: string[]) => queue.enqueue(ids);

  const quarantine = new Quarantine({ pool, limits: quarantineLimits, log });
  onStop(() => quarantine.drained());
  const worker = works ? openWorker() : undefined;
  if (worker) onStop(worker.stop);

  // What every role shows of itself.
  const forwarded = watchForwarded(trustProxy, log);
  const health = healthParts({ config, circuit, backend, queue, worker, forwarded });
  const limits = openLimits(config, onStop);
  const attempts = countAttempts(limits.signIns, trustProxy);
  const scrape = instruments?.scrape({ pool, queue, backend, log }, metrics.cacheMs);
  const admin: AdminParts | undefined = adminToken
    ? {
        sent: (req) => isFromAdmin(req, adminToken),
        require: requireAdmin(adminToken, attempts),
        scrape: scrape!,
        contract,
      }
    : undefined;
  onStop(await serveMetrics({ health, admin, log }, config));
  const stopping = new AbortController();
  onStop(async () => stopping.abort());
  if (fallback) void describeFallback(fallback, log, stopping.signal);

  function openWorker() {
    const inbox = new Inbox({ pool: inboxDatabase.pool, circuit, enqueue, log });
    onStop(() => inbox.drained());
    const parts = { config, families, db, circuit, backend, queue, inbox, quarantine, log };
    return startWorker({ ...parts, observe: observe?.worker });
  }

  if (!receives) return undefined;

  // The path of a callback, from its end.
  const inbox = new Inbox({
    pool: inboxDatabase.pool,
    circuit,
    enqueue,
    fallback: fallback && {
      circuit: backend.circuit,
      append: (deliveries) => fallback.append(deliveries),
    },
    observe: observe?.inbox,
    log,
  });
  onStop(() => inbox.drained());
  const drift = new Drift(pool, log, families);
  onStop(() => drift.close());
  const door = createDoor({ rules: authentication, limits, forwarded });
  const bodies = new BodyBudget(config.limits.bodies);
  const schema = envelopeSchema(families);
  const parts = { config, schema, door, bodies, inbox, quarantine, drift, observe: observe?.http, log };
  const callbacks = new Map<string, Handler>(
    families.map((family) => [config.paths[family.name]!, createCallbackHandler(family, parts)]),
  );
  log.info({ checks: describeDoor(config) }, 'what is asked of a sender');

  if (admin) {
    const { handle, close } = createConsole({
      adminToken: adminToken!,
      trustProxy,
      timezone: config.reportTimezone,
      databaseUrl,
      families,
      attempts,
      downloads: config.downloads,
      readiness: () => readiness(health),
      readmission: { families, schema, door, inbox, drift },
      replay: {
        count: countDeliveries,
        run: (onDb, filter, options) => replayDeliveries(onDb, families, filter, options),
      },
      queue,
      log,
    });
    onStop(close);
    admin.console = handle;
  }
  const app = createApp({ callbacks, health, admin, observe: observe?.http, log });
  const server = await listen(app, callbacks, config, reserved);
  onStop(server.stop);
  return server.url;
}

function openBackend(
  { redisUrl, queuePrefix }: Config,
  databaseUrl: string,
  databaseId: Promise<string>,
  circuit: Circuit,
  parts: CircuitParts,
): QueueBackend {
  if (!redisUrl) return postgresBackend(databaseUrl, circuit);
  return redisBackend({ url: redisUrl, prefix: queuePrefix, databaseUrl, databaseId }, parts);
}

/** Says what the settings of Redis mean for deliveries that wait there, once it answers. */
async function describeFallback(fallback: FallbackStream, log: Log, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const { safe, detail } = await fallback.readDurability();
      log[safe ? 'info' : 'warn']({ detail }, 'deliveries wait in Redis while PostgreSQL is away');
      return;
    } catch {
      // Redis is away, which its circuit reports.
      await sleep(describeEveryMs, undefined, { ref: false, signal }).catch(() => {});
    }
  }
}

/** How often something may happen; receivers count together where there is Redis. */
function openLimits(config: Config, onStop: (closer: Closer) => void) {
  const { requestsPerSecond, refusalsPerMinute } = config.limits;
  const redis = config.redisUrl ? connectRedis(config.redisUrl, 'producer') : undefined;
  redis?.on('error', () => {}); // the limits go on in memory
  onStop(async () => redis?.disconnect());
  const prefix = keyPrefix(config.queuePrefix);
  return {
    requests: requestsPerSecond
      ? rateLimit(`${prefix}:requests`, { points: requestsPerSecond, durationS: 1 }, redis)
      : undefined,
    refusals: rateLimit(`${prefix}:refusals`, { points: refusalsPerMinute, durationS: 60 }, redis),
    signIns: rateLimit(`${prefix}:sign-ins`, { points: 10, durationS: 300 }, redis),
  };
}

async function startEmbedded(config: Config, log: Log, onStop: (closer: Closer) => void): Promise<string> {
  const stopping = new AbortController();
  const starting = startEmbeddedPostgres(config.dataDir, log, [], stopping.signal);
  // Before it is there: a stop while it is made leaves no process behind.
  onStop(async () => {
    stopping.abort();
    await starting.then(
      ({ stop }) => stop(),
      () => {}, // raised below
    );
  });
  return (await starting).url;
}

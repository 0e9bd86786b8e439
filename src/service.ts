import { once } from 'node:events';
import type { Server } from 'node:net';
import type { Config } from './config.ts';
import { createConsole } from './console/index.ts';
import { envelopeSchema, type Family } from './families/index.ts';
import { healthParts } from './health-parts.ts';
import { countAttempts, requireAdmin } from './http/admin.ts';
import { type AdminParts, createApp } from './http/app.ts';
import { createCallbackHandler, type Handler } from './http/callback-handler.ts';
import { describeDoor } from './http/door/describe.ts';
import { createDoor } from './http/door/door.ts';
import { rateLimit } from './http/door/rate-limit.ts';
import { readiness } from './http/health.ts';
import { serveMetrics } from './http/metrics-server.ts';
import { listen } from './http/server.ts';
import type { Delivery } from './inbox/delivery.ts';
import { Drift } from './inbox/drift.ts';
import { Inbox } from './inbox/inbox.ts';
import { Quarantine } from './inbox/quarantine.ts';
import type { Log } from './log.ts';
import { createMetrics } from './metrics/index.ts';
import { prepareDatabase } from './prepare-database.ts';
import { checkRedis } from './queue/check-redis.ts';
import { DeliveryQueue } from './queue/delivery-queue.ts';
import { postgresBackend } from './queue/postgres-backend.ts';
import { connectRedis } from './queue/redis.ts';
import { redisBackend } from './queue/redis-backend.ts';
import { openDatabase } from './store/database.ts';
import { startEmbeddedPostgres } from './store/embedded/index.ts';
import { countDeliveries, replayDeliveries } from './worker/replay.ts';
import { startWorker } from './worker/worker.ts';

export interface Service {
  /** Where it listens; undefined for a worker. */
  url: string | undefined;
  /** Finishes what is in flight, then closes everything that was opened. */
  stop: () => Promise<void>;
}

type Closer = () => Promise<void>;

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
  onStop(await prepareDatabase(databaseUrl, config, log));
  const name = `receiver ${config.role}`;
  const database = openDatabase(databaseUrl, log, { connections: 10, name, queryTimeoutMs: 30_000 });
  onStop(database.close);
  const { db, pool } = database;

  const openBackend = () => (config.redisUrl ? redisBackend(config.redisUrl) : postgresBackend(databaseUrl));
  const backend = openBackend();
  onStop(backend.close);
  await backend.prepare();
  const queue = await DeliveryQueue.open(backend, log);
  onStop(() => queue.close());
  const enqueue = (ids: string[]) => queue.enqueue(ids);
  void backend.refuge?.durability().then(
    ({ safe, detail }) =>
      log[safe ? 'info' : 'warn']({ detail }, 'deliveries wait in Redis while PostgreSQL is away'),
    (err) => log.warn({ err }, 'what Redis keeps could not be found out'),
  );

  // What every role shows of itself.
  const health = healthParts(config, pool, backend);
  const limits = openLimits(config, onStop);
  const attempts = countAttempts(limits.signIns, trustProxy);
  const stores = { pool, queue: () => queue.opened(), queueStore: backend.name, log };
  const instruments = adminToken ? createMetrics(families, stores, metrics.cacheMs) : undefined;
  const observe = instruments?.observe;
  const admin: AdminParts | undefined = adminToken
    ? { require: requireAdmin(adminToken, attempts), scrape: instruments!.scrape, contract }
    : undefined;
  onStop(await serveMetrics({ health, admin, log }, config));

  const quarantine = new Quarantine({ pool, limits: quarantineLimits, log });
  onStop(() => quarantine.drained());

  if (works) {
    const inbox = new Inbox({ pool, enqueue, log });
    onStop(() => inbox.drained());
    const parts = { config, families, db, backend, queue, quarantine, log };
    onStop(await startWorker({ ...parts, inbox, observe: observe?.worker }));
  }
  if (!receives) return undefined;

  // The path of a callback, from its end.
  const refuge = backend.refuge && {
    hold: (deliveries: Delivery[]) =>
      queue.hold(deliveries.map(({ body, ...rest }) => ({ ...rest, json: body.toString() }))),
    ping: backend.ping,
  };
  const inbox = new Inbox({ pool, enqueue, refuge, observe: observe?.inbox, log });
  onStop(() => inbox.drained());
  const drift = new Drift(pool, log, families);
  onStop(() => drift.close());
  const door = createDoor({ rules: authentication, limits });
  const schema = envelopeSchema(families);
  const parts = { config, schema, door, inbox, quarantine, drift, observe: observe?.http, log };
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
      readiness: () => readiness(health),
      readmission: { families, schema, door, inbox },
      replay: {
        count: countDeliveries,
        run: (onDb, filter, options) => replayDeliveries(onDb, families, filter, options),
      },
      openBackend,
      contract,
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

/** How often something may happen; receivers count together where there is Redis. */
function openLimits(config: Config, onStop: (closer: Closer) => void) {
  const { requestsPerSecond, refusalsPerMinute } = config.limits;
  const redis = config.redisUrl ? connectRedis(config.redisUrl, 'producer') : undefined;
  redis?.on('error', () => {}); // the limits go on in memory
  onStop(async () => redis?.disconnect());
  return {
    requests: requestsPerSecond
      ? rateLimit('requests', { points: requestsPerSecond, durationS: 1 }, redis)
      : undefined,
    refusals: rateLimit('refusals', { points: refusalsPerMinute, durationS: 60 }, redis),
    signIns: rateLimit('sign-ins', { points: 10, durationS: 300 }, redis),
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

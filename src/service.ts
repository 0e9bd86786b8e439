import type pg from 'pg';
import type { Config } from './config.ts';
import { type ConsoleParts, createConsole } from './console/index.ts';
import { envelopeSchema, type Family } from './families/index.ts';
import { countAttempts, requireAdmin } from './http/admin.ts';
import { type AdminParts, createApp } from './http/app.ts';
import { createCallbackHandler, type Handler } from './http/callback-handler.ts';
import { describeDoor } from './http/door/describe.ts';
import { createDoor } from './http/door/door.ts';
import { rateLimit } from './http/door/rate-limit.ts';
import { type HealthPart, readiness, within } from './http/health.ts';
import { listen } from './http/server.ts';
import type { Delivery } from './inbox/delivery.ts';
import { Drift } from './inbox/drift.ts';
import { Inbox } from './inbox/inbox.ts';
import { Quarantine } from './inbox/quarantine.ts';
import type { Log } from './log.ts';
import type { QueueBackend } from './queue/backend.ts';
import { DeliveryQueue } from './queue/delivery-queue.ts';
import { postgresBackend } from './queue/postgres-backend.ts';
import { connectRedis } from './queue/redis.ts';
import { redisBackend } from './queue/redis-backend.ts';
import { applyReportPaths, applyReportTimezone } from './reporting/index.ts';
import { openDatabase } from './store/database.ts';
import { startEmbeddedPostgres } from './store/embedded/index.ts';
import { migrate } from './store/migrate.ts';
import { countDeliveries, replayDeliveries } from './worker/replay.ts';
import { startWorker } from './worker/worker.ts';

export interface Service {
  /** Where it listens; undefined for a worker. */
  url: string | undefined;
  /** Finishes what is in flight, then closes everything that was opened. */
  stop: () => Promise<void>;
}

type Closer = () => Promise<void>;

/**
 * Starts what the role needs, and returns when it is ready.
 *
 * @param families the event families to take in
 * @param contract makes what is served at /openapi.json, if anything
 * @throws the error of what could not be started; what was started by then is stopped
 */
export async function startService(
  config: Config,
  families: readonly [Family, ...Family[]],
  log: Log,
  contract?: () => object | Promise<object>,
): Promise<Service> {
  const closers: Closer[] = [];
  const stop = async () => {
    const errors: unknown[] = [];
    while (closers.length > 0) await closers.pop()!().catch((error) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, 'Not everything could be closed.');
  };
  try {
    return { url: await start(config, families, log, contract, (closer) => closers.push(closer)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What is opened last is closed first. */
async function start(
  config: Config,
  families: readonly [Family, ...Family[]],
  log: Log,
  contract: (() => object | Promise<object>) | undefined,
  onStop: (closer: Closer) => void,
): Promise<string | undefined> {
  const receives = config.role !== 'worker';
  const works = config.role !== 'receiver';

  const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, log, onStop));
  await prepareDatabase(databaseUrl, config, log);
  const name = `receiver ${config.role}`;
  const database = openDatabase(databaseUrl, log, { connections: 10, name, queryTimeoutMs: 30_000 });
  onStop(database.close);

  const openBackend = () => (config.redisUrl ? redisBackend(config.redisUrl) : postgresBackend(databaseUrl));
  const backend = openBackend();
  onStop(backend.close);
  await backend.prepare();
  const queue = await DeliveryQueue.open(backend, log);
  onStop(() => queue.close());
  void backend.refuge?.durability().then(
    ({ safe, detail }) =>
      log[safe ? 'info' : 'warn']({ detail }, 'deliveries wait in Redis while PostgreSQL is away'),
    (err) => log.warn({ err }, 'what Redis keeps could not be found out'),
  );

  const { db, pool } = database;
  const enqueue = (ids: string[]) => queue.enqueue(ids);
  const quarantine = new Quarantine({ pool, limits: config.quarantine, log });
  onStop(() => quarantine.drained());
  if (works) {
    const inbox = new Inbox({ pool, enqueue, log });
    onStop(() => inbox.drained());
    onStop(await startWorker({ config, families, db, backend, queue, inbox, quarantine, log }));
  }
  if (!receives) return undefined;

  const refuge = backend.refuge && {
    hold: (deliveries: Delivery[]) => queue.hold(deliveries),
    ping: backend.ping,
  };
  const inbox = new Inbox({ pool, enqueue, refuge, log });
  onStop(() => inbox.drained());
  const drift = new Drift(pool, log, families);
  onStop(() => drift.close());
  const limits = openLimits(config, onStop);
  const door = createDoor({ rules: config.authentication, limits });
  const schema = envelopeSchema(families);
  const callbacks = new Map<string, Handler>(
    families.map((family) => [
      config.paths[family.name]!,
      createCallbackHandler(family, { config, schema, door, inbox, quarantine, drift, log }),
    ]),
  );
  const health = healthParts(config, pool, backend);
  log.info({ checks: describeDoor(config) }, 'what is asked of a sender');
  const admin =
    config.adminToken === undefined
      ? undefined
      : openAdmin(
          {
            adminToken: config.adminToken,
            trustProxy: config.authentication.trustProxy,
            timezone: config.reportTimezone,
            databaseUrl,
            families,
            attempts: countAttempts(limits.signIns, config.authentication.trustProxy),
            readiness: () => readiness(health),
            readmission: { families, schema, door, inbox },
            replay: {
              count: countDeliveries,
              run: (db, filter, options) => replayDeliveries(db, families, filter, options),
            },
            openBackend,
            contract,
            log,
          },
          onStop,
        );
  const server = await listen(createApp({ callbacks, health, admin, log }), callbacks, config);
  onStop(server.stop);
  return server.url;
}

/** On a connection of its own: a migration may take longer than any other query. */
async function prepareDatabase(url: string, config: Config, log: Log): Promise<void> {
  const { db, close } = openDatabase(url, log, { connections: 2, name: 'receiver migration' });
  try {
    const migrations = await migrate(db);
    if (migrations.length > 0) log.info({ migrations }, 'the database was migrated');
    await applyReportTimezone(db, config.reportTimezone);
    await applyReportPaths(db, config.paths);
  } finally {
    await close();
  }
}

function healthParts(config: Config, pool: pg.Pool, backend: QueueBackend): HealthPart[] {
  // Half the time that a part has, so that the other store can still be asked.
  const database = () => within(1_000, pool.query('select 1')).then(() => 'PostgreSQL');
  const refuge = () => backend.ping().then(() => 'Redis, until PostgreSQL is back');
  const durability = backend.refuge?.durability;
  return [
    {
      name: 'store',
      required: true,
      check: () => database().catch((e) => (backend.refuge ? refuge() : Promise.reject(e))),
    },
    { name: 'database', required: false, check: () => database().then(() => 'answers') },
    { name: 'queue', required: false, check: () => backend.ping().then(() => `on ${backend.name}`) },
    ...(durability
      ? [{ name: 'refuge', required: false, check: () => durability().then(({ detail }) => detail) }]
      : []),
    { name: 'door', required: false, check: async () => describeDoor(config) },
  ];
}

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

/** What the admin token opens. */
function openAdmin(parts: ConsoleParts, onStop: (closer: Closer) => void): AdminParts {
  const { adminToken, attempts, contract } = parts;
  const { handle, close } = createConsole(parts);
  onStop(close);
  return { require: requireAdmin(adminToken, attempts), console: handle, contract };
}

async function startEmbedded(config: Config, log: Log, onStop: (closer: Closer) => void): Promise<string> {
  const embedded = await startEmbeddedPostgres(config.dataDir, log);
  onStop(embedded.stop);
  return embedded.url;
}

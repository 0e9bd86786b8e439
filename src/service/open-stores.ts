import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import { poolSizes } from '../config/pool-sizes.ts';
import { databaseCircuit } from '../intake/probe-inbox.ts';
import { checkRedis } from '../queue/check-redis.ts';
import { openDeliveryQueue } from '../queue/delivery-queue.ts';
import { postgresBackend } from '../queue/postgres-backend.ts';
import { redisBackend } from '../queue/redis-backend.ts';
import type { OnStop } from '../receiver/receiver.ts';
import { createDatabaseClock } from '../receiver/store/clock.ts';
import { openDatabase } from '../store/database.ts';
import { startEmbeddedPostgres } from '../store/embedded/index.ts';
import { planForAnySize, type SessionSettings } from '../store/transaction-settings.ts';
import { prepareDatabase } from './prepare-database.ts';

export type Stores = Awaited<ReturnType<typeof openStores>>;

const openingMs = 2_000;

/**
 * Opens PostgreSQL (the embedded one without DATABASE_URL), updates its tables, and opens the queue.
 *
 * @param onStop registers functions that close them, which are called in reverse order
 */
export async function openStores(config: Config, log: Log, onStop: OnStop) {
  const { redisUrl, queuePrefix, timeLimits } = config;
  const { databaseMs } = timeLimits;
  const connections = poolSizes;
  if (redisUrl) await checkRedis(redisUrl, log);
  const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, log, onStop));
  const directUrl = config.directDatabaseUrl ?? databaseUrl;
  const { databaseId, stop } = await prepareDatabase(directUrl, config, log);
  onStop(stop);
  const open = (part: string, size: number, queryTimeoutMs: number, settings: SessionSettings = {}) => {
    const name = `receiver ${part}`;
    const timeouts = { queryTimeoutMs, connectTimeoutMs: databaseMs };
    const options = { name, connections: size, settings, ...timeouts };
    const opened = openDatabase(databaseUrl, log, options);
    onStop(opened.close);
    return opened;
  };
  const database = open(config.role, connections.main, 30_000);
  // Connections that apply deliveries: a locked table must not delay work on the others.
  const applySettings = { lock_timeout: 1_000, ...planForAnySize };
  const applying = open('apply', connections.applying, 30_000, applySettings);
  // Connections of the inbox alone, so that no other work delays a commit. The server cancels a statement when the inbox
  // gives it up, so that none accumulate behind a locked table. A commit is on disk even where `synchronous_commit` is
  // off for the database or the role.
  const inboxSettings = {
    lock_timeout: databaseMs * 0.8,
    synchronous_commit: 'on',
    ...planForAnySize,
  };
  const { pool: inboxPool } = open('inbox', connections.inbox, databaseMs, inboxSettings);
  const circuit = databaseCircuit(inboxPool, { log, timeoutMs: databaseMs });
  onStop(async () => circuit.stop());
  const clock = createDatabaseClock(inboxPool, circuit);
  for (const pool of [database.pool, applying.pool, inboxPool]) {
    pool.on('error', (error) => void circuit.probeAfter(error));
  }
  const backend = redisUrl
    ? redisBackend({
        url: redisUrl,
        prefix: queuePrefix,
        mode: config.redisFallback,
        timeoutMs: timeLimits.redisMs,
        databaseUrl,
        db: database.db,
        databaseId,
        log,
      })
    : postgresBackend(directUrl, circuit, connections, database.pool);
  onStop(backend.close);
  const queue = openDeliveryQueue(backend, log);
  onStop(queue.close);
  // Where the stores are available, the first deliveries get jobs at once, and are not refused by this process's clock alone.
  const opening = Promise.all([queue.opening, clock.refresh()]);
  await Promise.race([opening, sleep(openingMs, undefined, { ref: false })]);
  return {
    databaseUrl,
    connections,
    database,
    applying,
    inboxPool,
    circuit,
    clock,
    backend,
    queue,
  };
}

/** @returns the address of the embedded database of this process. @throws Error where another process uses it */
export async function startEmbedded(config: Config, log: Log, onStop: OnStop): Promise<string> {
  const stopping = new AbortController();
  const starting = startEmbeddedPostgres(config.dataDir, log, [], stopping.signal);
  // Registered before it has started, so that a stop during the start leaves no process behind.
  onStop(async () => {
    stopping.abort();
    await starting.then(
      ({ stop }) => stop(),
      () => {}, // thrown below
    );
  });
  const { url, isOwn } = await starting;
  if (isOwn) return url;
  throw new Error(
    `Another receiver, or a command, uses the embedded database in ${resolve(config.dataDir)}. Stop it, or set DATA_DIR or DATABASE_URL`,
  );
}

import express from 'express';
import type pg from 'pg';
import type { Delivery } from '../callbacks/delivery.ts';
import type { Family } from '../callbacks/families/family.ts';
import type { Config } from '../common/config/config.ts';
import type { Log } from '../common/log.ts';
import { type AccessChecks, configuredChecks, createAccessChecks } from './http/access.ts';
import { createCallbacks } from './http/handle-callback.ts';
import { createApp, listen, type Server } from './http/server.ts';
import { createIntake, type Intake } from './intake/intake.ts';
import { checkRedis } from './queue/redis.ts';
import { fingerprintOf } from './store/migrate.ts';
import { openPool } from './store/pools.ts';
import { prepare } from './store/prepare.ts';
import { openStores, type Stores } from './stores.ts';
import { type DrainOptions, drainFallback } from './worker/drain.ts';
import { createMerge } from './worker/merge.ts';
import { startWorker, type Worker } from './worker/worker.ts';

export interface ReceiverOptions {
  databaseUrl: string;
  families: readonly Family[];
  log: Log;
  /** Makes the HTTP beside the callbacks. */
  routes?: (state: ReceiverState) => readonly express.RequestHandler[];
}

/** The state of a process. */
export interface ReceiverState extends Stores {
  /** Whether it accepts requests only until load balancers know that it stops. */
  isStopping?: () => boolean;
  /** Undefined in a worker. */
  access?: AccessChecks;
}

/** Connections to PostgreSQL: of requests, and of the worker, which merges once at a time. */
const connections = { intake: 4, worker: 3 };

export interface Receiver {
  url: string;
  state: ReceiverState;
  /** Begins to refuse requests, before everything else ends. */
  stopServing: () => Promise<void>;
}

/** Registers what closes a part; the last is closed first. */
export type OnStop = (close: () => Promise<unknown>) => void;

/**
 * Starts the path of a callback, from its HTTP request to its row: what the role has of it.
 *
 * @returns once it takes callbacks
 * @throws the first error; what was opened is closed by the functions that were registered with `onStop`
 */
export async function startReceiver(
  config: Config,
  options: ReceiverOptions,
  onStop: OnStop,
): Promise<Receiver> {
  const { databaseUrl, families, log } = options;
  const { redisUrl, role, times } = config;
  const { databaseMs } = times;
  if (redisUrl) await checkRedis(redisUrl, log);
  const stopping = new AbortController();
  const { signal } = stopping;
  onStop(async () => stopping.abort());
  const { identity } = await prepare({
    ...{ url: config.directDatabaseUrl ?? databaseUrl, families, timezone: config.reportTimezone },
    ...{ connectTimeoutMs: databaseMs, signal, log },
    canWait: redisUrl !== undefined && config.redisFallback !== 'off',
  });
  const open = (part: keyof typeof connections) => {
    const size = { name: `receiver ${part}`, connections: connections[part], connectTimeoutMs: databaseMs };
    const pool = openPool(databaseUrl, log, size);
    onStop(() => pool.end());
    return pool;
  };
  const pool = open('intake');
  const stores = await openStores(config, pool, log, identity);
  onStop(stores.close);
  const { circuit, clock, queue, fallback, drainSource } = stores;
  let worker: Worker | undefined;
  const onStored = (deliveries: readonly Delivery[]) => {
    const names = [...new Set(deliveries.map(({ family }) => family))];
    const ids = deliveries.map(({ id }) => id);
    if (queue) void queue.enqueue(ids, names);
    else worker?.wake(names);
  };
  const intake = createIntake({ config, families, pool, circuit, clock, fallback, onStored, log });
  onStop(intake.close);

  if (role !== 'receiver') {
    const workerPool = open('worker');
    const merge = createMerge({ pool: workerPool, families, log });
    const { sweepEveryMs: everyMs, sweepAgeMs: olderThanMs, pollMs } = times;
    const sweep = { everyMs, olderThanMs, pollMs };
    worker = startWorker({ merge, pool: workerPool, families, queue, sweep, log });
    onStop(worker.stop);
    const fingerprint = fingerprintOf(families);
    const isCurrent = () => isFor(fingerprint, workerPool);
    const { bodyLimitBytes } = config;
    const pauses = { everyMs: times.drainEveryMs, maxPauseMs: times.maxDrainPauseMs };
    if (drainSource)
      onStop(startDrain({ fallback: drainSource, intake, isCurrent, bodyLimitBytes, ...pauses, log }));
  }
  const state: ReceiverState = { ...stores };
  const server = await serve(config, options, state, intake);
  state.isStopping = server.isStopping;
  onStop(server.stop);
  return { url: server.url, state, stopServing: server.stop };
}

/** Takes requests: a worker, those beside the callbacks alone. */
function serve(
  config: Config,
  { routes = () => [], log }: ReceiverOptions,
  state: ReceiverState,
  intake: Intake,
): Promise<Server> {
  let callbacks = express.Router();
  if (config.role !== 'worker') {
    const access = createAccessChecks(config, state.clock.now, log);
    callbacks = createCallbacks({ config, access, intake, log });
    state.access = access;
    const checks = configuredChecks(config).join(', ') || 'none: anybody can send callbacks';
    log.info({ checks }, 'access checks of callbacks');
  }
  return listen(callbacks, createApp({ routes: routes(state), log }), config);
}

/** Whether the tables are for the families of a fingerprint; false while the database does not answer. */
const isFor = (fingerprint: string, pool: pg.Pool): Promise<boolean> =>
  pool.query('select where receiver.is_current($1)', [fingerprint]).then(
    ({ rowCount }) => rowCount === 1,
    () => false,
  );

/** Drains the fallback store. @returns a function that ends it */
function startDrain(options: Omit<DrainOptions, 'signal'>): () => Promise<void> {
  const stopping = new AbortController();
  const drained = drainFallback({ ...options, signal: stopping.signal });
  return () => {
    stopping.abort();
    return drained;
  };
}

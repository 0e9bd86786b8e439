import express from 'express';
import type { Family } from '../callbacks/families/family.ts';
import { type Config, merges, takesCallbacks } from '../common/config/config.ts';
import type { Log } from '../common/log.ts';
import { type AccessChecks, configuredChecks, createAccessChecks } from './http/access.ts';
import { createCallbacks } from './http/handle-callback.ts';
import { createApp, listen } from './http/server.ts';
import { createIntake } from './intake/intake.ts';
import type { ListRecent } from './intake/store-delivery.ts';
import { openPool } from './store/pools.ts';
import { prepare } from './store/prepare.ts';
import { openStores, type Stores } from './stores.ts';
import { readIdentity, startDrain } from './worker/drain.ts';
import { createMerge } from './worker/merge.ts';
import { startWorker, type Worker } from './worker/worker.ts';

interface ReceiverOptions {
  databaseUrl: string;
  families: readonly Family[];
  log: Log;
  /** Makes the HTTP beside the callbacks. */
  routes?: (state: ReceiverState) => readonly express.RequestHandler[];
}

export interface ReceiverState extends Stores {
  /** It accepts requests only until load balancers know that it stops. */
  isStopping?: () => boolean;
  /** Undefined in a worker, like `listRecent`. */
  access?: AccessChecks;
  listRecent?: ListRecent;
}

/** Connections to PostgreSQL: of requests, and of the worker, which merges once at a time. */
const connections = { intake: 4, worker: 3 };

/** Registers what closes a part; the last is closed first. */
export type OnStop = (close: () => Promise<unknown>) => void;

/**
 * Starts the path of a callback, from its HTTP request to its row: what the role has of it.
 *
 * @returns `stopServing`: refuses requests, before everything else ends
 * @throws the first error; what was opened is closed by the functions that were registered with `onStop`
 */
export async function startReceiver(
  config: Config,
  options: ReceiverOptions,
  onStop: OnStop,
): Promise<{ url: string; state: ReceiverState; stopServing: () => Promise<void> }> {
  const { databaseUrl, families, log, routes = () => [] } = options;
  const { times } = config;
  const stopping = new AbortController();
  onStop(async () => stopping.abort());
  await prepare({ config, databaseUrl, families, signal: stopping.signal, log });
  const open = (part: keyof typeof connections) => {
    const size = { connections: connections[part], connectTimeoutMs: times.databaseMs };
    const pool = openPool(databaseUrl, log, { name: `receiver ${part}`, ...size });
    onStop(() => pool.end());
    return pool;
  };
  const pool = open('intake');
  const stores = await openStores(config, pool, log);
  onStop(stores.close);
  const { circuit, clock, queue, fallback } = stores;
  const claim = async () => fallback?.claim(await readIdentity(pool));
  // Where a store is away, the drain does it later.
  void claim().catch(() => {});

  const workerPool = merges(config) ? open('worker') : undefined;
  let worker: Worker | undefined;
  if (workerPool) {
    const merge = createMerge({ pool: workerPool, families, log });
    worker = startWorker({ merge, pool: workerPool, families, queue, times, log });
    onStop(worker.stop);
  }
  const onStored = queue?.enqueue ?? worker?.wake;
  const intake = createIntake({ config, families, pool, circuit, clock, fallback, onStored, log });
  onStop(intake.close);
  if (workerPool && fallback)
    onStop(startDrain({ fallback, intake, config, pool: workerPool, families, log }));

  const state: ReceiverState = { ...stores };
  let callbacks = express.Router();
  if (takesCallbacks(config)) {
    const access = createAccessChecks(config, clock.now, log);
    callbacks = createCallbacks({ config, access, intake, log });
    Object.assign(state, { access, listRecent: intake.listRecent });
    const checks = configuredChecks(config).join(', ') || 'none: anybody can send callbacks';
    log.info({ checks }, 'access checks of callbacks');
  }
  // A worker serves those beside the callbacks alone.
  const server = await listen(callbacks, createApp(routes(state), log), config);
  state.isStopping = server.isStopping;
  onStop(server.stop);
  return { url: server.url, state, stopServing: server.stop };
}

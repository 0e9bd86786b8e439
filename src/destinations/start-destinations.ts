import { randomUUID } from 'node:crypto';
import { CursorUnknown } from '../changes/read-page.ts';
import { type Feed, FeedUnavailable, startFeed } from '../changes/start-feed.ts';
import { type Log, throttled } from '../common/log.ts';
import { pause } from '../common/pause.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { Db } from '../store/tables.ts';
import { deliver } from './deliver.ts';
import { findFree, forgetPosition, releaseLease, takeLease } from './destination-table.ts';

export interface DestinationsDependencies {
  db: Db;
  families: readonly Family[];
  config: Pick<Config, 'destinations'>;
  circuit: Pick<Circuit, 'whenClosed' | 'probeAfter'>;
  log: Log;
}

/**
 * Sends changes to the destinations that no other process sends to, while PostgreSQL is available. Without destinations it
 * only looks for them.
 */
export function startDestinations({ db, families, config, circuit, log }: DestinationsDependencies) {
  const times = config.destinations;
  const stopping = new AbortController();
  const cutting = new AbortController();
  const { signal } = stopping;
  const holder = randomUUID();
  const running = new Map<string, Promise<void>>();
  const report = throttled((more, err) => log.warn({ err, ...more }, 'webhooks are delayed'));
  const explain = async (error: unknown) => {
    if (error instanceof FeedUnavailable || signal.aborted) return;
    if (!(await circuit.probeAfter(error))) report(error);
  };
  let feed: Feed | undefined;

  const send = async (id: string, feed: Feed) => {
    const lease = { id, holder, leaseMs: times.leaseMs };
    try {
      const destination = await takeLease(db, lease);
      if (!destination) return;
      const dependencies = { db, feed, families, lease, times, cut: cutting.signal, log };
      await deliver(destination, dependencies, signal);
    } catch (error) {
      if (error instanceof CursorUnknown) await forgetPosition(db, id);
      else await explain(error);
    } finally {
      await releaseLease(db, lease).catch(explain);
    }
  };

  const look = async () => {
    const destinations = await findFree(db);
    if (destinations.length === 0) {
      await feed?.stop();
      feed = undefined;
      return;
    }
    feed ??= startFeed(db, families, circuit, log);
    // Until then nobody knows whether this is a copy, whose destinations get nothing.
    if (!feed.isOpen()) return;
    for (const { id, isFree } of destinations) {
      if (!isFree || running.has(id)) continue;
      const sending = send(id, feed).catch(explain);
      running.set(id, sending);
      void sending.then(() => running.delete(id));
    }
  };

  const looking = (async () => {
    while (!signal.aborted) {
      await circuit.whenClosed(signal).then(look).catch(explain);
      await pause(times.lookMs, signal);
    }
  })();

  return {
    /** Waits a moment for answers, and lets other processes continue. */
    stop: async () => {
      stopping.abort();
      const cut = setTimeout(() => cutting.abort(), times.graceMs);
      await looking;
      await Promise.all(running.values());
      clearTimeout(cut);
      await feed?.stop();
    },
  };
}

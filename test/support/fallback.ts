import { randomUUID } from 'node:crypto';
import type { SpilledDelivery } from '../../src/callbacks/delivery.ts';
import { createLog } from '../../src/common/log.ts';
import {
  createFallback,
  type Fallback,
  isAway,
  type SpilledEntry,
} from '../../src/receiver/queue/fallback.ts';
import { StoreUnavailable } from '../../src/receiver/store/circuit.ts';
import { closeLater } from './close-later.ts';
import { startRedis, type TestRedis } from './redis.ts';
import { type Overrides, testConfig } from './service.ts';
import { until } from './until.ts';

export async function startOwnRedis(options: string[] = []): Promise<TestRedis> {
  const redis = await startRedis(options);
  closeLater(redis.stop);
  return redis;
}

export const stream = '{receiver}:fallback';
export const owner = '{receiver}:owner';

/** A fallback store, once it has found Redis. */
export async function openFallback(url: string, overrides: Overrides = {}): Promise<Fallback> {
  const config = testConfig({ ...overrides, times: { redisMs: 1_300, ...overrides.times } });
  const fallback = createFallback({ url, config, log: createLog('silent') });
  closeLater(fallback.close);
  await until(async () => (await fallback.check()) !== isAway);
  return fallback;
}

let arrivals = Date.UTC(2026, 0, 1) * 1000;

/** Deliveries that have arrived one after the other. */
export const spilled = (count = 1, body = '{}'): SpilledDelivery[] =>
  Array.from({ length: count }, () => {
    arrivals += 1;
    return { id: randomUUID(), family: 'receipt', receivedAt: arrivals, body: Buffer.from(body) };
  });

/** @returns whether the deliveries are acknowledged */
export const appends = (fallback: Fallback, deliveries = spilled()): Promise<boolean> =>
  fallback.append(deliveries).then(
    () => true,
    (error) => {
      expect(error).toBeInstanceOf(StoreUnavailable);
      return false;
    },
  );

export async function appendSoon(fallback: Fallback, deliveries = spilled()): Promise<SpilledDelivery[]> {
  await until(() => appends(fallback, deliveries));
  return deliveries;
}

export async function readSoon(fallback: Fallback, min = 1): Promise<SpilledEntry[]> {
  let entries: SpilledEntry[] = [];
  await until(async () => {
    entries = await fallback.read(100).catch(() => []);
    return entries.length >= min;
  });
  return entries;
}

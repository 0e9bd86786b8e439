import type { Config } from '../config.ts';
import { defineMetrics } from './definitions.ts';
import { observersOf } from './observers.ts';
import { createScrape, type Scrape, type Stores } from './scrape.ts';

export interface ServiceMetrics {
  /** For the parts of the service to say what they do. */
  observe: ReturnType<typeof observersOf>;
  /** What /metrics serves, and to whom. */
  endpoint: { adminToken: string; scrape: () => Promise<Scrape> };
}

/** The metrics of one service; undefined where no admin token would open them. */
export function createMetrics(
  { adminToken, metrics: { cacheMs } }: Pick<Config, 'adminToken' | 'metrics'>,
  families: readonly { name: string }[],
  stores: Stores,
): ServiceMetrics | undefined {
  if (!adminToken) return undefined;
  const metrics = defineMetrics(families.map(({ name }) => name));
  return {
    observe: observersOf(metrics),
    endpoint: { adminToken, scrape: createScrape(metrics, stores, cacheMs) },
  };
}

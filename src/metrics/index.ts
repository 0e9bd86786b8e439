import { defineMetrics } from './definitions.ts';
import { observersOf } from './observers.ts';
import { createScrape, type Scrape, type Stores } from './scrape.ts';

export interface ServiceMetrics {
  /** For the parts of the service to say what they do. */
  observe: ReturnType<typeof observersOf>;
  /** What /metrics serves. */
  scrape: () => Promise<Scrape>;
}

/**
 * The metrics of one service.
 *
 * @param cacheMs how long the stores' figures hold
 */
export function createMetrics(
  families: readonly { name: string }[],
  stores: Stores,
  cacheMs: number,
): ServiceMetrics {
  const metrics = defineMetrics(families.map(({ name }) => name));
  return { observe: observersOf(metrics), scrape: createScrape(metrics, stores, cacheMs) };
}

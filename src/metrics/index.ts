import { defineMetrics } from './definitions.ts';
import { observersOf } from './observers.ts';
import { createScrape, type Scrape, type Stores } from './scrape.ts';

export interface ServiceMetrics {
  /** The callbacks through which the parts of the service report events. */
  observe: ReturnType<typeof observersOf>;
  /**
   * Creates the function that makes the response of /metrics.
   *
   * @param cacheMs how long the stores' statistics are cached
   */
  scrape: (stores: Stores, cacheMs: number) => () => Promise<Scrape>;
}

/** The metrics of one service. */
export function createMetrics(families: readonly { name: string }[]): ServiceMetrics {
  const metrics = defineMetrics(families.map(({ name }) => name));
  return {
    observe: observersOf(metrics),
    scrape: (stores, cacheMs) => createScrape(metrics, stores, cacheMs),
  };
}

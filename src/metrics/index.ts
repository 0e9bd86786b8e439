import { defineMetrics } from './definitions.ts';
import { observersOf } from './observers.ts';
import { createScrape, type Scrape, type Stores } from './scrape.ts';

export interface ServiceMetrics {
  /** For the parts of the service to say what they do. */
  observe: ReturnType<typeof observersOf>;
  /**
   * Makes what /metrics serves.
   *
   * @param cacheMs how long the stores' figures hold
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

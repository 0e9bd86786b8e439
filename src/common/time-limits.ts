/** Time limits of the stores, in ms: what takes longer is an outage. */
export interface TimeLimits {
  /** The limit of a commit, a connection and a probe of PostgreSQL. */
  databaseMs: number;
  /** The limit of a commit in Redis. A request waits for both stores at most. */
  redisMs: number;
  /** The limit of each check of `/readyz`. */
  readinessMs: number;
}

/** @param hasFallback whether Redis can take a callback: then nobody waits long for PostgreSQL */
export const timeLimits = (hasFallback = false): TimeLimits => ({
  databaseMs: hasFallback ? 2_000 : 10_000,
  redisMs: 1_300,
  readinessMs: 5_000,
});

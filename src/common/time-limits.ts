/** Time limits of the stores, in ms: what takes longer is an outage. */
export interface TimeLimits {
  /** Of a commit, a connection and a probe of PostgreSQL. */
  databaseMs: number;
  /** Of a commit in Redis. A request waits for both stores at most. */
  redisMs: number;
  /** Of each check of `/readyz`. */
  readinessMs: number;
}

/** @param hasFallback whether Redis can take a callback: then nobody waits long for PostgreSQL */
export const timeLimits = (hasFallback = false): TimeLimits => ({
  databaseMs: hasFallback ? 2_000 : 10_000,
  redisMs: 1_300,
  readinessMs: 5_000,
});

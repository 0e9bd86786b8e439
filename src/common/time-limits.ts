/** The time limit of a commit in PostgreSQL. */
export const databaseTimeoutMs = 1_000;

/** The time limit of a commit in Redis. A request waits for both at most. */
export const redisTimeoutMs = 1_300;

/** The time limit of a command of a producer: more than that of a commit, which waits for its confirmation so long. */
export const redisCommandTimeoutMs = 2_000;

/** The time limit of opening a connection to PostgreSQL, and of its first query. */
export const connectTimeoutMs = 2_000;

/** The time limit of each check of `/readyz`. */
export const readinessTimeoutMs = 2_000;

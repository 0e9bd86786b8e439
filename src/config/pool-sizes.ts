/** The connections of a process to PostgreSQL, by pool. A role opens only those that it needs. */
export const poolSizes = {
  main: 6,
  inbox: 4,
  /** One for each job that runs at the same time. */
  applying: 4,
  producer: 2,
  /** One of them listens. */
  consumer: 6,
  pages: 2,
  downloads: 2,
};

export type PoolSizes = typeof poolSizes;

/** With those that are in no pool: of the migration and of cancelling statements. */
export const maxConnections = Object.values(poolSizes).reduce((sum, size) => sum + size, 4);

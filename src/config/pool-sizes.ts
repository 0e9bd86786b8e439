interface Process {
  role: 'all' | 'receiver' | 'worker';
  redisUrl: string | undefined;
  databaseConnections: number;
}

export type PoolSizes = Record<keyof typeof sizes, number>;

/** What each pool can work with, and more than which makes nothing faster. */
const sizes = {
  // Sums, search terms, the retention and an erasure each hold one in a step; leases are renewed beside them.
  main: { least: 4, most: 6 },
  inbox: { least: 2, most: 4 },
  /** One for each job that runs at the same time. */
  applying: { least: 1, most: 4 },
  producer: { least: 2, most: 2 },
  // One of them listens.
  consumer: { least: 2, most: 6 },
  pages: { least: 1, most: 2 },
  downloads: { least: 1, most: 2 },
  /** Not in a pool: of the migration, of cancelling statements, and of the search for a primary. */
  spare: { least: 4, most: 4 },
} as const;

const sum = (key: 'least' | 'most') => Object.values(sizes).reduce((total, size) => total + size[key], 0);

/** What DATABASE_CONNECTIONS can be set to, and beyond which it changes nothing. */
export const fewestConnections = sum('least');
export const defaultConnections = sum('most');

export function poolsOf({ role, redisUrl }: Pick<Process, 'role' | 'redisUrl'>): (keyof PoolSizes)[] {
  const worker = role !== 'receiver';
  return [
    ...(['main', 'inbox', 'spare'] as const),
    ...(worker ? (['applying'] as const) : []),
    ...(redisUrl ? [] : (['producer'] as const)),
    ...(worker && !redisUrl ? (['consumer'] as const) : []),
    ...(role === 'worker' ? [] : (['pages', 'downloads'] as const)),
  ];
}

/**
 * Divides the connections of a process over its pools, so that their sum is not more than `databaseConnections`. A pool
 * that the role does not open has its smallest size.
 */
export function divideConnections(config: Process): PoolSizes {
  const divided = Object.fromEntries(
    Object.entries(sizes).map(([name, { least }]) => [name, least]),
  ) as PoolSizes;
  const used = poolsOf(config);
  let left = config.databaseConnections - used.reduce((total, name) => total + divided[name], 0);
  for (let most = 2; most <= defaultConnections; most += 1) {
    for (const name of used.filter((pool) => divided[pool] < Math.min(most, sizes[pool].most))) {
      if (left <= 0) return divided;
      divided[name] += 1;
      left -= 1;
    }
  }
  return divided;
}

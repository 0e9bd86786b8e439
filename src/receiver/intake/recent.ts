/** A delivery that this process has stored in the database. `at`: ms since 1970. */
export interface StoredDelivery {
  id: string;
  at: number;
}

/** The newest of them: after a fail-over they may be gone. */
export interface RecentDeliveries {
  add: (ids: readonly string[]) => void;
  /** Those of the last ten minutes, the oldest first; 5,000 at most. */
  list: () => readonly StoredDelivery[];
  forget: (ids: ReadonlySet<string>) => void;
}

const maxCount = 5_000;
const keptMs = 600_000;

export function createRecentDeliveries(): RecentDeliveries {
  let recent: StoredDelivery[] = [];
  return {
    add: (ids) => {
      const at = Date.now();
      for (const id of ids) recent.push({ id, at });
      if (recent.length > 2 * maxCount) recent = recent.slice(-maxCount);
    },
    list: () => {
      const since = Date.now() - keptMs;
      recent = recent.slice(-maxCount).filter(({ at }) => at >= since);
      return recent;
    },
    forget: (ids) => {
      recent = recent.filter(({ id }) => !ids.has(id));
    },
  };
}

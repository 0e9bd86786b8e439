/** A claim of a job reads as many index entries several times. */
const maxDeadRows = 5_000;
/** Autovacuum looks once a minute. */
const vacuumedWithinMs = 120_000;

/**
 * Creates a function that returns whether a table is full of deleted rows that no vacuum removes: their number was high at
 * each call of the last two minutes, or since the first call.
 *
 * @param countDead the number of deleted rows, by PostgreSQL's statistics
 */
export function watchBloat(countDead: () => Promise<number>): () => Promise<boolean> {
  let lowAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const dead = await countDead();
    if (dead < maxDeadRows) lowAt = performance.now();
    return performance.now() - lowAt > vacuumedWithinMs;
  };
}

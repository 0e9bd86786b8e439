import pg from 'pg';

const text = `
insert into receiver.counters as c (name, key, count, first_at, last_at, example)
values ('unstored', $1::uuid || ' ' || $2, 1, now(), now(), $1)
on conflict (name, key) do update set count = c.count + 1, last_at = now()
returning first_at < now() - interval '6 hours' as "isOld"`;

/**
 * Counts that a delivery could not be stored, for the check `unstored`.
 *
 * @param reason without values
 * @returns whether PostgreSQL itself has refused it for hours: then a person has to look at it
 */
export const countUnstored = (pool: pg.Pool, id: string, error: unknown, reason: string, timeoutMs: number) =>
  pool.query<{ isOld: boolean }>({ text, values: [id, reason], query_timeout: timeoutMs }).then(
    ({ rows }) => rows[0]!.isOld && error instanceof pg.DatabaseError,
    () => false,
  );

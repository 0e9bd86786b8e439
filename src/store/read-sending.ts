import type pg from 'pg';
import { maxCounted } from './read-tables.ts';

/** `failing`: nothing was accepted lately; `paused`: by a person; `stopped`: by the receiver, after a day, or by a 410. */
export const destinationStates = ['active', 'failing', 'paused', 'stopped'] as const;

const statements = `
set local statement_timeout = 1000;
select
  coalesce((select max(position) from changes), 0)::float8 as position,
  coalesce((
    select extract(epoch from now() - changed_at) from changed_records order by transaction, id limit 1
  ), 0)::float8 as lag,
  (select count(*)::int from (
    select from destination_waiting where parked_at is null limit ${maxCounted}) waiting) as waiting,
  (select count(*)::int from (
    select from destination_waiting where parked_at is not null limit ${maxCounted}) parked) as parked,
  coalesce(extract(epoch from now() - least(
    (select min(failing_since) from destinations where state = 'active'),
    (select min(failed_at) from (
      select failed_at from destination_waiting where parked_at is null limit ${maxCounted}) waiting)
  )), 0)::float8 as oldest;
select case
    when state = 'active' and failing_since is not null then 'failing'
    when state <> 'active' and reason is not null then 'stopped'
    else state
  end as state, count(*)::int as count
from destinations group by 1`;

/**
 * Reads how far the feed of changes is, and what its destinations wait for.
 *
 * @throws the database's error
 */
export async function readSending(pool: pg.Pool) {
  const results = (await pool.query(statements)) as unknown as pg.QueryResult[];
  const [figures, states] = results.filter(({ command }) => command === 'SELECT');
  const { position, lag, waiting, parked, oldest } = figures!.rows[0] as Record<
    'position' | 'lag' | 'waiting' | 'parked' | 'oldest',
    number
  >;
  const destinations = new Map(states!.rows.map(({ state, count }): [string, number] => [state, count]));
  return { position, lagS: lag, waiting, parked, oldestS: oldest, destinations };
}

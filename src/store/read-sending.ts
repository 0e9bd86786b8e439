import type pg from 'pg';

/** `failing`: the next change was not accepted; `paused`: by a person; `stopped`: by the receiver, after three days, or by a 410. */
export const destinationStates = ['active', 'failing', 'paused', 'stopped'] as const;

const statements = `
set local statement_timeout = 1000;
select
  coalesce((select max(position) from changes), 0)::float8 as position,
  coalesce((
    select extract(epoch from now() - changed_at) from changed_records order by transaction, id limit 1
  ), 0)::float8 as lag;
select case
    when state = 'active' and failing_since is not null then 'failing'
    when state <> 'active' and reason is not null then 'stopped'
    else state
  end as state, count(*)::int as count
from destinations group by 1`;

/**
 * Reads how far the feed of changes is, and what its destinations do.
 *
 * @throws the database's error
 */
export async function readSending(pool: pg.Pool) {
  const results = (await pool.query(statements)) as unknown as pg.QueryResult[];
  const [figures, states] = results.filter(({ command }) => command === 'SELECT');
  const { position, lag } = figures!.rows[0] as Record<'position' | 'lag', number>;
  const destinations = new Map(states!.rows.map(({ state, count }): [string, number] => [state, count]));
  return { position, lagS: lag, destinations };
}

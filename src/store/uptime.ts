import { type RawBuilder, sql } from 'kysely';
import type { Db } from './tables.ts';

/** Beats that are further apart are an outage. A restart takes less. */
export const toleratedMs = 180_000;
const keptDays = 400;

/** A time in which a receiver accepted callbacks, as milliseconds before now. */
export interface Uptime {
  fromMs: number;
  untilMs: number;
  /** Where it continues what is recorded: the result of that call. */
  recorded?: number | undefined;
}

const ago = (now: RawBuilder<Date>, ms: number) => sql`${now} - ${ms}::float8 * interval '1 millisecond'`;
const tolerated = sql.raw(`interval '${toleratedMs} milliseconds'`);

/**
 * Adds a time to the table `uptime`; what it touches becomes one row with it. May be repeated.
 *
 * Times are those of the database's clock, which all receivers share. Rows in its future were written before it was set back,
 * and are cut: they would hide the next outage.
 *
 * @param now the database's clock
 * @returns its end, for the time that continues it: where the clock was set forward in between, the two still touch
 * @throws the database's error
 */
export async function recordUptime(
  db: Db,
  { fromMs, untilMs, recorded }: Uptime,
  now: RawBuilder<Date> = sql`now()`,
): Promise<number> {
  const { rows } = await sql<{ until: number }>`
    with given as (
      select least(${ago(now, fromMs)}, to_timestamp(${recorded ?? null}::float8 / 1000)) as from_at,
             ${ago(now, untilMs)} as until_at
    ), touched as materialized (
      select u.from_at, u.until_at from uptime u, given g
      where u.from_at <= g.until_at + ${tolerated} and u.until_at >= g.from_at - ${tolerated}
      order by u.from_at for update of u
    ), merged as (
      select least(g.from_at, min(t.from_at)) as from_at, least(${now}, greatest(g.until_at, max(t.until_at))) as until_at,
             min(t.from_at) as existing
      from given g left join touched t on true group by g.from_at, g.until_at
    ), extended as (
      update uptime u set from_at = m.from_at, until_at = m.until_at from merged m where u.from_at = m.existing
    ), deleted as (
      delete from uptime u using merged m
      where u.from_at is distinct from m.existing
        and (u.from_at in (select from_at from touched) or u.from_at > ${now}
          or u.until_at < ${now} - ${keptDays} * interval '1 day')
    ), added as (
      insert into uptime (from_at, until_at) select from_at, until_at from merged where existing is null
      on conflict (from_at) do nothing
    )
    select extract(epoch from until_at)::float8 * 1000 as until from given`.execute(db);
  return rows[0]!.until;
}

import { sql } from 'kysely';
import { appointment } from '../families/appointment.ts';
import type { Db } from '../store/tables.ts';
import type { Window } from './days.ts';
import type { ReadPage } from './pages.ts';

export interface Pass extends Window {
  id: string;
  business: string;
  startedAt: Date;
}

const keptDays = 400;

/** Begins a pass, or continues one of the same days that was interrupted less than a day ago. */
export async function beginPass(db: Db, business: string, { from, to }: Window): Promise<Pass> {
  const { rows } = await sql<{ id: string; startedAt: Date }>`
    with continued as (
      update reconciliations set attempted_at = clock_timestamp()
      where id = (
        select id from reconciliations
        where business_id = ${business} and from_day = ${from}::date and to_day = ${to}::date
          and ended_at is null and started_at between now() - interval '1 day' and now()
        order by started_at desc limit 1
      )
      returning id, started_at
    ), begun as (
      insert into reconciliations (business_id, from_day, to_day)
      select ${business}, ${from}::date, ${to}::date where not exists (select from continued)
      returning id, started_at
    ), forgotten as (
      delete from reconciliations where started_at < now() - ${keptDays} * interval '1 day'
    )
    select id, started_at as "startedAt" from continued union all select id, started_at from begun`.execute(
    db,
  );
  const pass = { ...rows[0]!, business, from, to };
  // Pages of passes that nobody continues.
  await sql`
    delete from reconciliation_pages
    where reconciliation_id in (select id from reconciliations where business_id = ${business} and id <> ${pass.id})`.execute(
    db,
  );
  return pass;
}

export async function readPages(db: Db, { id }: Pass): Promise<ReadPage[]> {
  const { rows } = await sql<ReadPage>`
    select from_day::text as "from", round, page, is_last as "isLast", has_late as "hasLate", appointment_ids as ids,
           asked_at as "askedAt"
    from reconciliation_pages where reconciliation_id = ${id} order by from_day, round, page`.execute(db);
  return rows;
}

export async function notePage(db: Db, { id }: Pass, read: ReadPage): Promise<void> {
  const { from, round, page, isLast, hasLate, ids, askedAt } = read;
  await sql`
    insert into reconciliation_pages
      (reconciliation_id, from_day, round, page, is_last, has_late, appointment_ids, asked_at)
    values (${id}, ${from}::date, ${round}, ${page}, ${isLast}, ${hasLate}, ${ids}::text[], ${askedAt})
    on conflict do nothing`.execute(db);
}

/** Notes that the days of a window were compared. */
export async function noteComplete(
  db: Db,
  { business }: Pass,
  { from, to }: Window,
  asOf: Date,
): Promise<void> {
  await sql`
    insert into reconciled_days as former (business_id, family, day, complete_as_of)
    select ${business}, ${appointment.name}, day::date, ${asOf}::timestamptz
    from generate_series(${from}::date, ${to}::date, interval '1 day') as day
    on conflict (business_id, day, family)
      do update set complete_as_of = greatest(former.complete_as_of, excluded.complete_as_of)`.execute(db);
}

export interface Unlisted {
  id: string;
  delivery: string;
  day: string;
}

/** The rows booked in the days of the pass that the platform did not list, and that no callback has told of since. */
export async function findUnlisted(db: Db, pass: Pass, listed: readonly string[]): Promise<Unlisted[]> {
  const { business, from, to, startedAt } = pass;
  const { rows } = await sql<Unlisted>`
    select appointment_id as id, delivery_id as delivery, reporting.day(coalesce(created_at, first_event_time, event_time))::text as day
    from appointments
    where business_id = ${business} and deleted_at is null and received_at < ${startedAt}
      and reporting.day(coalesce(created_at, first_event_time, event_time)) between ${from}::date and ${to}::date
      and appointment_id not in (select unnest(${listed}::text[]))
    order by appointment_id`.execute(db);
  return rows;
}

/** Records a row that the platform does not know. */
export async function noteUnknown(db: Db, { business }: Pass, { delivery, day }: Unlisted): Promise<void> {
  await sql`
    insert into unknown_records (delivery_id, business_id, family, day)
    select ${delivery}::uuid, ${business}, ${appointment.name}, ${day}::date
    -- It may have been erased meanwhile.
    where exists (select from inbox where id = ${delivery}::uuid)
    on conflict (delivery_id) do update set found_at = excluded.found_at`.execute(db);
}

/** Notes the end, and removes what the pass has not found again. */
export async function endPass(db: Db, { id, business, from, to, startedAt }: Pass): Promise<void> {
  await sql`
    with ended as (
      update reconciliations set ended_at = clock_timestamp() where id = ${id}
    ), known as (
      delete from unknown_records
      where business_id = ${business} and day between ${from}::date and ${to}::date
        and found_at < ${startedAt}
    ), never_stored as (
      -- A stop came before they were stored, and a callback before the next attempt.
      delete from reconciled_deliveries r
      where business_id = ${business} and found_at >= ${startedAt} and not exists (select from inbox i where i.id = r.id)
    )
    delete from reconciliation_pages where reconciliation_id = ${id}`.execute(db);
}

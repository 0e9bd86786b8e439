import { sql } from 'kysely';
import type { Intake } from '../intake/intake.ts';
import type { Db } from '../store/tables.ts';
import { compare, type Outcome } from './compare.ts';
import { type Window, windowsOf } from './days.ts';
import { type Platform, PlatformUnreadable } from './platform.ts';
import { createReader } from './reader.ts';
import { supply } from './supply.ts';

/** Numbers of appointments. `filled`: of those that were missing or differ, stored as deliveries. */
export type Counts = Record<Outcome | 'filled', number>;

const noCounts: Readonly<Counts> = { agrees: 0, missing: 0, differs: 0, busy: 0, erased: 0, filled: 0 };

export interface ReconcileOptions extends Window {
  db: Db;
  intake: Pick<Intake, 'store'>;
  business: string;
  platform: Platform;
  /** Compares only: nothing is stored or noted. */
  dryRun?: boolean;
  /** Ends the pass between two pages. */
  signal?: AbortSignal;
  /** Called with what was compared on each page. */
  onProgress?: (counts: Readonly<Counts>) => void;
}

/** In a window: 300,000 appointments of a week. */
const maxPages = 10_000;

/**
 * Compares the appointments of some days with those that the platform lists. What is missing or differs comes in as deliveries,
 * through the intake. It may be interrupted and repeated at any time; one process at a time runs one.
 *
 * @throws PlatformUnreadable; the signal's reason; Unavailable; the database's error
 */
export async function reconcile(options: ReconcileOptions): Promise<Counts> {
  const { db, intake, business, from, to, platform, signal, onProgress, dryRun = false } = options;
  const read = createReader(db, platform, signal);
  const pass = dryRun ? undefined : await beginPass(db, business, { from, to });
  const counts = { ...noCounts };
  const seen = new Set<string>();
  for (const window of windowsOf({ from, to })) {
    const listed = new Set<string>();
    for (let page = 0, isLast = false; !isLast; page += 1) {
      if (page === maxPages)
        throw new PlatformUnreadable(`The list from ${window.from} to ${window.to} has no last page.`);
      const reading = await read(window, page);
      // A platform that repeats a page would have no last one.
      isLast = reading.isLast || reading.appointments.every(({ appointment_id: id }) => listed.has(id));
      for (const { appointment_id: id } of reading.appointments) listed.add(id);
      // What is booked meanwhile moves others to the next page, and the last day of a window may be the first of the next.
      const appointments = reading.appointments.filter(({ appointment_id: id }) => !seen.has(id));
      for (const { appointment_id: id } of appointments) seen.add(id);
      const compared = await compare(db, business, window.from, { ...reading, appointments });
      const found = { ...noCounts };
      for (const { outcome } of compared) found[outcome] += 1;
      const isFound = ({ outcome }: { outcome: Outcome }) => outcome === 'missing' || outcome === 'differs';
      if (!dryRun)
        found.filled = await supply(db, intake, business, compared.filter(isFound), reading.askedAt);
      for (const [name, count] of Object.entries(found)) counts[name as keyof Counts] += count;
      onProgress?.(found);
    }
  }
  if (pass) await endPass(db, business, pass);
  return counts;
}

interface Pass {
  id: string;
  startedAt: Date;
}

const keptDays = 400;

export async function beginPass(db: Db, business: string, { from, to }: Window): Promise<Pass> {
  const { rows } = await sql<Pass>`
    with forgotten as (
      delete from reconciliations where started_at < now() - ${keptDays} * interval '1 day'
    )
    insert into reconciliations (business_id, from_day, to_day) values (${business}, ${from}::date, ${to}::date)
    returning id, started_at as "startedAt"`.execute(db);
  return rows[0]!;
}

/** Notes the end, and forgets deliveries that a stop has left unstored. */
async function endPass(db: Db, business: string, { id, startedAt }: Pass): Promise<void> {
  await sql`
    with ended as (
      update reconciliations set ended_at = clock_timestamp() where id = ${id}
    )
    delete from reconciled_deliveries r
    where business_id = ${business} and found_at >= ${startedAt} and not exists (select from inbox i where i.id = r.id)`.execute(
    db,
  );
}

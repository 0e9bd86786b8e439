import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import { type Destination, findDestination } from './destination-table.ts';

/** The worker that sends to a destination: one at a time does, so that no two requests are about the same record. */
export interface Lease {
  id: string;
  holder: string;
  /** How long it lasts without being renewed: longer than a request. */
  leaseMs: number;
}

/** What was done since the lease was last renewed. */
export interface Progress {
  /** undefined: it has not moved. */
  cursor: string | undefined;
  delivered: number;
  /** Whether the last attempts have failed. */
  isFailing: boolean;
}

const until = (leaseMs: number) => sql`now() + ${leaseMs} * interval '1 millisecond'`;

const isFree = (holder: string) => sql`
  state = 'active' and (leased_until is null or leased_until < now() or leased_by = ${holder})`;

/** All destinations, and those of them that a process may take. */
export async function findFree(db: Db, holder: string): Promise<{ id: string; isFree: boolean }[]> {
  const { rows } = await sql<{ id: string; isFree: boolean }>`
    select id, ${isFree(holder)} as "isFree" from destinations limit 1000`.execute(db);
  return rows;
}

/** @returns undefined where another worker was faster */
export async function takeLease(db: Db, { id, holder, leaseMs }: Lease): Promise<Destination | undefined> {
  const { numAffectedRows } = await sql`
    update destinations set leased_by = ${holder}, leased_until = ${until(leaseMs)}
    where id = ${id} and ${isFree(holder)}`.execute(db);
  return numAffectedRows === 1n ? findDestination(db, id) : undefined;
}

/**
 * Records the progress, and prolongs the lease.
 *
 * @returns the destination as it is now; undefined: the lease was lost, or the destination removed
 */
export async function renewLease(
  db: Db,
  { id, holder, leaseMs }: Lease,
  { cursor, delivered, isFailing }: Progress,
): Promise<Destination | undefined> {
  const { numAffectedRows } = await sql`
    update destinations set
      leased_until = ${until(leaseMs)}, cursor = coalesce(${cursor ?? null}, cursor), delivered = delivered + ${delivered},
      delivered_at = case when ${delivered} > 0 then now() else delivered_at end,
      failing_since = case when ${isFailing} then case when ${delivered} > 0 then now() else coalesce(failing_since, now()) end end
    where id = ${id} and leased_by = ${holder}`.execute(db);
  return numAffectedRows === 1n ? findDestination(db, id) : undefined;
}

/** Lets another worker continue at once. */
export async function releaseLease(db: Db, { id, holder }: Lease): Promise<void> {
  await sql`
    update destinations set leased_by = null, leased_until = null
    where id = ${id} and leased_by = ${holder}`.execute(db);
}

import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import { newSecret } from './sign.ts';

/** What is sent where. */
export interface Selection {
  url: string;
  families: string[];
  /** null: all. */
  businessId: string | null;
  /** Without the columns that are personal. */
  isPublic: boolean;
}

export interface Destination extends Selection {
  id: string;
  state: 'active' | 'paused';
  /** The cursor of the feed: each change up to it was accepted or skipped; null: from the beginning. */
  cursor: string | null;
  secret: Buffer;
  /** How often the next change was not accepted. */
  attempts: number;
}

/** A destination as lists show it, without its secret. */
export interface ListedDestination extends Omit<Destination, 'secret' | 'cursor'> {
  /** Why it is paused, or what it answered last to the change that it does not accept. */
  reason: string | null;
  nextAt: Date | null;
  delivered: number;
  deliveredAt: Date | null;
}

const columns = sql`id, url, families, business_id as "businessId", is_public as "isPublic", state, attempts`;

/** @param cursor where it begins */
export async function addDestination(
  db: Db,
  { url, families, businessId, isPublic }: Selection,
  cursor: string | null,
): Promise<Destination> {
  const id = `d-${randomBytes(4).toString('hex')}`;
  const { rows } = await sql<Destination>`
    insert into destinations (id, url, families, business_id, is_public, secret, cursor)
    values (${id}, ${url}, ${families}, ${businessId}, ${isPublic}, ${newSecret()}, ${cursor})
    returning ${columns}, secret, cursor`.execute(db);
  return rows[0]!;
}

export async function findDestination(db: Db, id: string): Promise<Destination | undefined> {
  const { rows } = await sql<Destination>`
    select ${columns}, secret, cursor from destinations where id = ${id}`.execute(db);
  return rows[0];
}

export async function listDestinations(db: Db): Promise<ListedDestination[]> {
  const { rows } = await sql<ListedDestination>`
    select ${columns}, reason, next_at as "nextAt", delivered::float8 as delivered, delivered_at as "deliveredAt"
    from destinations order by created_at, id limit 1000`.execute(db);
  return rows;
}

/** @param reason null: somebody wants it */
export async function pauseDestination(db: Db, id: string, reason: string | null): Promise<void> {
  await sql`
    update destinations set state = 'paused', reason = ${reason}, state_since = now()
    where id = ${id} and state = 'active'`.execute(db);
}

/** Continues where it was, at once. */
export async function resumeDestination(db: Db, id: string): Promise<void> {
  await sql`
    update destinations set state = 'active', reason = null, state_since = now(), attempts = 0, next_at = null,
      failing_since = null
    where id = ${id}`.execute(db);
}

/** What follows its position is not known any more: once it is resumed, it begins anew. */
export async function forgetPosition(db: Db, id: string): Promise<void> {
  await sql`update destinations set cursor = null where id = ${id}`.execute(db);
  const cause = 'A backup was restored, or it was paused for a month';
  await pauseDestination(db, id, `${cause}: it begins anew with all records`);
}

/**
 * Moves the position of a destination behind a change that it does not accept.
 *
 * @returns false: it is being sent to, or has moved meanwhile
 */
export async function skipTo(db: Db, { id, cursor }: Destination, next: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update destinations set cursor = ${next}, attempts = 0, next_at = null, failing_since = null
    where id = ${id} and cursor is not distinct from ${cursor} and coalesce(leased_until < now(), true)`.execute(
    db,
  );
  return numAffectedRows === 1n;
}

export const removeDestination = (db: Db, id: string): Promise<unknown> =>
  sql`delete from destinations where id = ${id}`.execute(db);

/** The worker that sends to a destination: one at a time does, so that no two requests are about the same record. */
export interface Lease {
  id: string;
  holder: string;
  /** How long it lasts without being renewed: longer than a request. */
  leaseMs: number;
}

const until = (leaseMs: number) => sql`now() + ${leaseMs} * interval '1 millisecond'`;

const isFree = sql`
  state = 'active' and coalesce(leased_until < now(), true) and coalesce(next_at <= now(), true)`;

/** All destinations, and those of them that a process may take. */
export async function findFree(db: Db): Promise<{ id: string; isFree: boolean }[]> {
  const { rows } = await sql<{ id: string; isFree: boolean }>`
    select id, ${isFree} as "isFree" from destinations limit 1000`.execute(db);
  return rows;
}

/** @returns undefined where another worker was faster */
export async function takeLease(db: Db, { id, holder, leaseMs }: Lease): Promise<Destination | undefined> {
  const { rows } = await sql<Destination>`
    update destinations set leased_by = ${holder}, leased_until = ${until(leaseMs)}
    where id = ${id} and ${isFree} returning ${columns}, secret, cursor`.execute(db);
  return rows[0];
}

/**
 * Records the progress, and prolongs the lease.
 *
 * @param delivered what was accepted since the last call
 * @returns whether to go on: false if it was paused or removed, or the lease was lost
 */
export async function renewLease(
  db: Db,
  { id, holder, leaseMs }: Lease,
  { cursor, delivered }: { cursor: string | null; delivered: number },
): Promise<boolean> {
  const { rows } = await sql<{ state: string }>`
    update destinations set leased_until = ${until(leaseMs)}, cursor = ${cursor}, delivered = delivered + ${delivered}
      ${delivered > 0 ? sql`, delivered_at = now(), reason = null, failing_since = null, attempts = 0, next_at = null` : sql``}
    where id = ${id} and leased_by = ${holder} returning state`.execute(db);
  return rows[0]?.state === 'active';
}

/** Notes that the next change was not accepted: it is tried again later. */
export async function noteFailure(db: Db, { id, holder }: Lease, outcome: string, pauseMs: number) {
  await sql`
    update destinations set attempts = attempts + 1, failing_since = coalesce(failing_since, now()),
      next_at = ${until(pauseMs)}, reason = ${outcome}
    where id = ${id} and leased_by = ${holder} and state = 'active'`.execute(db);
}

/** Lets another worker continue at once. */
export async function releaseLease(db: Db, { id, holder }: Lease): Promise<void> {
  await sql`
    update destinations set leased_by = null, leased_until = null
    where id = ${id} and leased_by = ${holder}`.execute(db);
}

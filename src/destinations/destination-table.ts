import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import { newSecret } from './sign.ts';

export type DestinationState = 'active' | 'paused' | 'disabled';

/** What is sent where. */
export interface Selection {
  url: string;
  families: string[];
  /** null: all. */
  businessId: string | null;
  /** Without the columns that are personal. */
  isPublic: boolean;
  /** The most requests at the same time. */
  maxInFlight: number;
}

export interface Destination extends Selection {
  id: string;
  state: DestinationState;
  /** The cursor of the feed; null: from the beginning. */
  cursor: string | null;
  /** Each signs. */
  secrets: Buffer[];
  /** How long nothing was accepted, by the clock of the database; null: the last attempt was. */
  failingMs: number | null;
}

/** A destination as lists show it, without its secrets. */
export interface ListedDestination extends Omit<Destination, 'secrets' | 'cursor' | 'failingMs'> {
  failingSince: Date | null;
  reason: string | null;
  stateSince: Date;
  delivered: number;
  deliveredAt: Date | null;
  /** Records whose last change was not accepted, and those of them that were given up. */
  waiting: number;
  parked: number;
}

/** How long both secrets sign. */
const rotationHours = 24;

const columns = sql`
  id, url, families, business_id as "businessId", is_public as "isPublic", max_in_flight as "maxInFlight", state, cursor,
  extract(epoch from now() - failing_since)::float8 * 1000 as "failingMs",
  case when former_secret_until > now() then array[secret, former_secret] else array[secret] end as secrets`;

/** @param cursor where it begins */
export async function addDestination(
  db: Db,
  { url, families, businessId, isPublic, maxInFlight }: Selection,
  cursor: string | null,
): Promise<Destination> {
  const id = `d-${randomBytes(4).toString('hex')}`;
  const { rows } = await sql<Destination>`
    insert into destinations (id, url, families, business_id, is_public, max_in_flight, secret, cursor)
    values (${id}, ${url}, ${families}, ${businessId}, ${isPublic}, ${maxInFlight}, ${newSecret()}, ${cursor})
    returning ${columns}`.execute(db);
  return rows[0]!;
}

export async function findDestination(db: Db, id: string): Promise<Destination | undefined> {
  const { rows } = await sql<Destination>`select ${columns} from destinations where id = ${id}`.execute(db);
  return rows[0];
}

export async function listDestinations(db: Db): Promise<ListedDestination[]> {
  const { rows } = await sql<ListedDestination>`
    select id, url, families, business_id as "businessId", is_public as "isPublic", max_in_flight as "maxInFlight",
           state, reason, state_since as "stateSince", delivered::float8 as delivered, delivered_at as "deliveredAt",
           failing_since as "failingSince", waiting.waiting, waiting.parked
    from destinations d, lateral (
      select count(*)::int as waiting, count(parked_at)::int as parked from destination_waiting w
      where w.destination_id = d.id
    ) waiting
    order by d.created_at, d.id limit 1000`.execute(db);
  return rows;
}

/** @returns false: there is none, or it has that state */
export async function setState(
  db: Db,
  id: string,
  state: DestinationState,
  reason: string | null,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update destinations set state = ${state}, reason = ${reason}, state_since = now(),
      failing_since = case when ${state} = 'active' then null else failing_since end
    where id = ${id} and state <> ${state}`.execute(db);
  return numAffectedRows === 1n;
}

/** What follows its position is not known any more: once it is resumed, it begins anew. */
export async function forgetPosition(db: Db, id: string): Promise<void> {
  await sql`update destinations set cursor = null where id = ${id}`.execute(db);
  await setState(
    db,
    id,
    'paused',
    'A backup was restored, or it was paused for a month: it begins anew with all records',
  );
}

/** Gives it a new secret. The former one goes on to sign for a day. */
export async function rotateSecret(db: Db, id: string): Promise<Destination | undefined> {
  const { rows } = await sql<Destination>`
    update destinations set former_secret = secret, secret = ${newSecret()},
      former_secret_until = now() + ${rotationHours} * interval '1 hour'
    where id = ${id} returning ${columns}`.execute(db);
  return rows[0];
}

export async function removeDestination(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from destinations where id = ${id}`.execute(db);
  return numAffectedRows === 1n;
}

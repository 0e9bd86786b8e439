import { sql } from 'kysely';
import { hasPersonalKey } from '../families/family.ts';
import { families } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import { retryPauseMs, triedForMs } from './retries.ts';

export interface RecordName {
  family: string;
  businessId: string;
  recordId: string;
}

export interface WaitingRecord extends RecordName {
  kind: 'changed' | 'deleted' | 'erased';
  /** The version of its last change that was read. */
  version: number;
  attempts: number;
}

export interface ListedWaiting extends WaitingRecord {
  failedAt: Date;
  nextAt: Date;
  parkedAt: Date | null;
  outcome: string;
}

/** Further ones pause the destination: it accepts too little. */
export const mostWaiting = 10_000;

const name = sql`family, business_id as "businessId", record_id as "recordId", kind, version::float8 as version, attempts`;
const isRecord = (destination: string, { family, businessId, recordId }: RecordName) => sql`
  destination_id = ${destination} and family = ${family} and business_id = ${businessId} and record_id = ${recordId}`;

/** All of a destination: later changes of these records wait. */
export async function readWaiting(db: Db, destination: string): Promise<RecordName[]> {
  const { rows } = await sql<RecordName>`
    select ${name} from destination_waiting where destination_id = ${destination}
    limit ${mostWaiting + 1000}`.execute(db);
  return rows;
}

/** @param all also those whose time has not come, the next first */
export async function findDue(
  db: Db,
  destination: string,
  limit: number,
  all: boolean,
): Promise<WaitingRecord[]> {
  const { rows } = await sql<WaitingRecord>`
    select ${name} from destination_waiting
    where destination_id = ${destination} and parked_at is null ${all ? sql`` : sql`and next_at <= now()`}
    order by next_at limit ${limit}`.execute(db);
  return rows;
}

/** A record's change was not accepted: it waits for its next attempt, or is given up. */
export async function putWaiting(
  db: Db,
  destination: string,
  record: WaitingRecord,
  { outcome, retryAfterMs }: { outcome: string; retryAfterMs?: number | undefined },
): Promise<void> {
  const { family, businessId, recordId, kind, version, attempts } = record;
  const pauseMs = retryPauseMs(attempts, retryAfterMs);
  await sql`
    insert into destination_waiting as w (destination_id, family, business_id, record_id, kind, version, attempts, next_at, outcome)
    values (${destination}, ${family}, ${businessId}, ${recordId}, ${kind}, ${version}, ${attempts},
            now() + ${pauseMs} * interval '1 millisecond', ${outcome})
    on conflict (destination_id, family, business_id, record_id) do update set
      kind = case when excluded.version >= w.version then excluded.kind else w.kind end,
      version = greatest(w.version, excluded.version), attempts = excluded.attempts, next_at = excluded.next_at,
      outcome = excluded.outcome,
      parked_at = case when w.failed_at < now() - ${triedForMs} * interval '1 millisecond' then now() end`.execute(
    db,
  );
}

/** Notes a later change of a record that waits. @returns false: it does not wait */
export async function noteChange(
  db: Db,
  destination: string,
  record: Omit<WaitingRecord, 'attempts'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update destination_waiting set kind = ${record.kind}, version = greatest(version, ${record.version})
    where ${isRecord(destination, record)}`.execute(db);
  return numAffectedRows === 1n;
}

/** A record was accepted: it waits no more. @returns false: a later change of it was noted meanwhile */
export async function dropWaiting(
  db: Db,
  destination: string,
  record: Pick<WaitingRecord, keyof RecordName | 'version'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from destination_waiting
    where ${isRecord(destination, record)} and version <= ${record.version}`.execute(db);
  return numAffectedRows === 1n;
}

/** The destination accepts again: what failed with it is not to wait for long. */
export async function dueNow(db: Db, destination: string): Promise<void> {
  await sql`
    update destination_waiting set next_at = now()
    where destination_id = ${destination} and parked_at is null and next_at > now()`.execute(db);
}

/**
 * Begins anew with records.
 *
 * @param onlyParked otherwise all
 * @returns how many
 */
export async function redrive(db: Db, destination: string, onlyParked: boolean): Promise<number> {
  const { numAffectedRows } = await sql`
    update destination_waiting set parked_at = null, attempts = 0, failed_at = now(), next_at = now()
    where destination_id = ${destination} ${onlyParked ? sql`and parked_at is not null` : sql``}`.execute(db);
  return Number(numAffectedRows);
}

/** The id of a record, unless it may identify a patient. */
export const shownId = ({ family, recordId }: RecordName): string =>
  families.some((one) => one.name === family && !hasPersonalKey(one)) ? recordId : '…';

/** Parked ones first. */
export async function listWaiting(db: Db, destination: string, limit: number): Promise<ListedWaiting[]> {
  const { rows } = await sql<ListedWaiting>`
    select ${name}, failed_at as "failedAt", next_at as "nextAt", parked_at as "parkedAt", outcome
    from destination_waiting where destination_id = ${destination}
    order by parked_at, next_at limit ${limit}`.execute(db);
  return rows;
}

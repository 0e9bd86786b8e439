import { sql } from 'kysely';
import { idAt, uuid } from '../common/uuid.ts';
import type { Core } from '../receiver/feature.ts';
import { patientsOf, type RecordKey } from './read-record.ts';

export const statuses = ['received', 'applied', 'failed'] as const;

export interface DeliveryFilter {
  family?: string | undefined;
  event?: string | undefined;
  status?: (typeof statuses)[number] | undefined;
  business?: string | undefined;
  /** Event times. */
  since?: Date | undefined;
  until?: Date | undefined;
  /** Only what is behind this delivery in the list. */
  before?: string | undefined;
}

/** A stored callback without its content. */
export interface DeliveryLine {
  id: string;
  event: string;
  family: string;
  clientId: string;
  businessId: string;
  eventTime: Date;
  status: (typeof statuses)[number];
  /** Why it failed, or waits. */
  error: string | null;
  /** How often it was received. */
  count: number;
  receivedAt: Date;
  lastReceivedAt: Date;
}

const columns = sql`d.id, d.event, d.family, d.client_id as "clientId", d.business_id as "businessId", d.event_time as "eventTime",
  d.status, d.error, d.delivery_count as count, d.received_at as "receivedAt", d.last_received_at as "lastReceivedAt"`;

const timeoutMs = 5_000;

/** Stored callbacks, the newest event first. */
export async function listDeliveries(
  { db }: Core,
  filter: DeliveryFilter,
  limit: number,
): Promise<DeliveryLine[]> {
  const { family, event, status, business, since, until, before } = filter;
  const waiting = sql`select id from receiver.pending_deliveries`;
  const conditions = [
    family !== undefined && sql`d.family = ${family}`,
    event !== undefined && sql`d.event = ${event}`,
    business !== undefined && sql`d.business_id = ${business}`,
    // Ids begin with the time of the event.
    since && sql`d.id >= ${idAt(since)}::uuid`,
    until && sql`d.id < ${idAt(until)}::uuid`,
    before !== undefined && sql`d.id < ${before}::uuid`,
    // Not by the view's status, for which every callback would be read.
    status === 'failed' && sql`d.id = any(array(${waiting} where next_at = 'infinity'))`,
    status === 'received' && sql`d.id = any(array(${waiting} where next_at < 'infinity'))`,
    status === 'applied' && sql`d.id not in (${waiting})`,
  ].flatMap((one) => one || []);
  const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``;
  return db.transaction().execute(async (tx) => {
    await sql.raw(`set local statement_timeout = ${timeoutMs}`).execute(tx);
    const query = sql<DeliveryLine>`select ${columns} from public.deliveries d ${where} order by d.id desc limit ${limit}`;
    return (await query.execute(tx)).rows;
  });
}

/** A stored callback with its body as PostgreSQL writes it, and whom it is about. */
export interface StoredDelivery extends DeliveryLine {
  body: string;
  /** Whether it lost what is personal to an erasure. */
  isReduced: boolean;
  /** Undefined: no family of this process has it. */
  record: RecordKey | undefined;
  subjects: string[];
}

/** @returns undefined: there is none */
export async function readDelivery(
  { db, pool, families }: Core,
  id: string,
): Promise<StoredDelivery | undefined> {
  if (!uuid.test(id)) return undefined;
  const { rows } = await sql<Omit<StoredDelivery, 'record' | 'subjects'> & { recordId: string }>`
    select ${columns}, i.record_id as "recordId", i.envelope::text as body, 'reduced' = any(i.subjects) as "isReduced"
    from public.deliveries d join receiver.inbox i using (id) where i.id = ${id}::uuid`.execute(db);
  const [found] = rows;
  if (!found) return undefined;
  const { recordId, ...line } = found;
  const family = families.find(({ name }) => name === line.family);
  const record = family && { family, businessId: line.businessId, recordId };
  return { ...line, record, subjects: record ? await patientsOf(pool, [record]) : [] };
}

/**
 * Has deliveries merged again: the failed ones, of a family or all; or those with these ids, whatever their status. Merging
 * a record twice changes nothing.
 *
 * @returns how many wait for a merge now
 */
export async function replayDeliveries(
  { db }: Core,
  { family, ids }: { family?: string | undefined; ids?: readonly string[] | undefined },
): Promise<number> {
  const ofFamily = family === undefined ? sql`true` : sql`family = ${family}`;
  // In the order of ids, as an insert takes its pending rows.
  const query = ids
    ? sql`
        insert into receiver.pending_deliveries (id, family)
        select id, family from receiver.inbox where id = any(${[...ids]}::uuid[]) and ${ofFamily} order by id
        on conflict (id) do update set next_at = excluded.next_at, attempts = 0, error = null`
    : sql`
        update receiver.pending_deliveries set next_at = clock_timestamp(), attempts = 0
        where id in (
          select id from receiver.pending_deliveries where next_at = 'infinity' and ${ofFamily} order by id for update
        )`;
  const { numAffectedRows } = await query.execute(db);
  return Number(numAffectedRows);
}

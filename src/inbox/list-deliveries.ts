import { type Selectable, sql } from 'kysely';
import { idAt } from '../callbacks/identify.ts';
import { reducedMark } from '../callbacks/reduce.ts';
import { uuid } from '../common/words.ts';
import type { Core } from '../receiver/feature.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';
import { type FamilyRecord, patientsOf } from './read-record.ts';

export const statuses = ['received', 'applied', 'failed'] as const;

interface DeliveryFilter {
  family?: string | undefined;
  event?: string | undefined;
  status?: (typeof statuses)[number] | undefined;
  business?: string | undefined;
  /** By the time of the event. */
  since?: Date | undefined;
  until?: Date | undefined;
  /** Only deliveries behind this one in the list. */
  before?: string | undefined;
}

/** A stored callback without its content. */
export type DeliveryLine = Omit<Selectable<Tables['public.deliveries']>, 'envelope'>;

const deliveryLines = (db: Db) =>
  db
    .selectFrom('public.deliveries as d')
    .select(['d.id', 'd.event', 'd.family', 'd.client_id', 'd.business_id', 'd.event_time', 'd.status'])
    .select(['d.error', 'd.delivery_count', 'd.received_at', 'd.last_received_at']);

const timeoutMs = 5_000;

/** Stored callbacks, the newest event first. @throws the database's error, also after five seconds */
export async function listDeliveries(db: Db, filter: DeliveryFilter, limit: number): Promise<DeliveryLine[]> {
  const { family, event, status, business, since, until, before } = filter;
  return db.transaction().execute(async (tx) => {
    await sql.raw(`set local statement_timeout = ${timeoutMs}`).execute(tx);
    const pending = tx.selectFrom('receiver.pending_deliveries').select('id');
    const refused = sql<boolean>`next_at = 'infinity'`;
    // An array is read once, before the list.
    const isIn = (ids: typeof pending) => sql<boolean>`d.id = any(array(${ids}))`;
    return (
      deliveryLines(tx)
        .$if(family !== undefined, (query) => query.where('d.family', '=', family!))
        .$if(event !== undefined, (query) => query.where('d.event', '=', event!))
        .$if(business !== undefined, (query) => query.where('d.business_id', '=', business!))
        // Ids begin with the time of the event.
        .$if(since !== undefined, (query) => query.where('d.id', '>=', idAt(since!)))
        .$if(until !== undefined, (query) => query.where('d.id', '<', idAt(until!)))
        .$if(before !== undefined, (query) => query.where('d.id', '<', before!))
        // Not by the view's status, for which every callback would be read.
        .$if(status === 'failed', (query) => query.where(isIn(pending.where(refused))))
        .$if(status === 'received', (query) => query.where(isIn(pending.where(sql<boolean>`not ${refused}`))))
        .$if(status === 'applied', (query) => query.where('d.id', 'not in', pending))
        .orderBy('d.id', 'desc')
        .limit(limit)
        .execute()
    );
  });
}

export interface StoredDelivery extends DeliveryLine {
  /** As PostgreSQL writes it. */
  body: string;
  /** It lost what is personal to an erasure. */
  isReduced: boolean;
  /** Undefined: no family of this process has it. */
  record: FamilyRecord | undefined;
  subjects: string[];
}

export async function readDelivery(
  { db, pool, families }: Core,
  id: string,
): Promise<StoredDelivery | undefined> {
  if (!uuid.test(id)) return undefined;
  const row = await deliveryLines(db)
    .innerJoin('receiver.inbox as i', 'i.id', 'd.id')
    .select(['i.record_id as recordId', sql<string>`i.envelope::text`.as('body')])
    .select(sql<boolean>`${reducedMark} = any(i.subjects)`.as('isReduced'))
    .where('d.id', '=', id)
    .executeTakeFirst();
  if (!row) return undefined;
  const { recordId, ...delivery } = row;
  const family = families.find(({ name }) => name === delivery.family);
  const record = family && { family, businessId: delivery.business_id, recordId };
  const subjects =
    record &&
    (await inTransaction(pool, 'set transaction read only', (client) => patientsOf(client, [record])));
  return { ...delivery, record, subjects: subjects ?? [] };
}

/** Has those with these ids merged again, whatever their status, or else the failed ones. @returns how many wait now */
export async function replayDeliveries(
  db: Db,
  { family, ids }: { family?: string | undefined; ids?: readonly string[] | undefined },
): Promise<number> {
  const again = { next_at: sql<Date>`clock_timestamp()`, attempts: 0 };
  // In the order of ids, as an insert takes its pending rows.
  if (ids) {
    const stored = db
      .selectFrom('receiver.inbox')
      .select(['id', 'family'])
      .where(isOneOf(ids))
      .$if(family !== undefined, (query) => query.where('family', '=', family!))
      .orderBy('id');
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('receiver.pending_deliveries')
      .columns(['id', 'family'])
      .expression(stored)
      .onConflict((existing) => existing.column('id').doUpdateSet({ ...again, error: null }))
      .executeTakeFirst();
    return Number(numInsertedOrUpdatedRows);
  }
  const failed = db
    .selectFrom('receiver.pending_deliveries')
    .select('id')
    .where(sql<boolean>`next_at = 'infinity'`)
    .$if(family !== undefined, (query) => query.where('family', '=', family!))
    .orderBy('id')
    .forUpdate();
  const { numUpdatedRows } = await db
    .updateTable('receiver.pending_deliveries')
    .set(again)
    .where('id', 'in', failed)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** As one parameter: a statement takes at most 65,535. */
export const isOneOf = (ids: readonly string[]) => sql<boolean>`id = any(${[...ids]}::uuid[])`;

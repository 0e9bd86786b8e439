import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import { type Family, readField } from '../../families/index.ts';
import { type DeliveryStatus, deliveryStatuses, type Tables } from '../../store/tables.ts';
import { idAt } from '../../uuid.ts';
import { takePage } from '../paging.ts';
import { businesses } from '../store.ts';
import type { DeliveryFilter } from './form.ts';

type Columns = 'id' | 'event' | 'business_id' | 'event_time' | 'received_at' | 'status' | 'delivery_count';

export interface DeliveryLine extends Pick<Selectable<Tables['deliveries']>, Columns> {
  /** The id of the callback's receipt, form, and so on, where its family has one. */
  record: string | null;
}

/** Where a page begins: the last delivery of the page before, in either direction. */
export interface Place {
  /** Older than this delivery. */
  before?: string | undefined;
  /** Newer than this delivery. */
  after?: string | undefined;
}

export interface Listed {
  rows: DeliveryLine[];
  /** Whether there are pages of older and of newer deliveries. */
  older: boolean;
  newer: boolean;
}

/** A page of deliveries, the newest event first. */
export async function listDeliveries(
  db: Kysely<Tables>,
  families: readonly Family[],
  filter: DeliveryFilter,
  place: Place,
  size = 50,
): Promise<Listed> {
  const { rows: found } = await pageQuery(families, filter, place, size + 1).execute(db);
  const { rows, more } = takePage(found, size);
  if (place.after) return { rows: rows.reverse(), older: true, newer: more };
  return { rows, older: more, newer: place.before !== undefined };
}

/**
 * Ids sort by event time: their index finds any page, and a range of event times is a range of ids. Each status has its
 * own table.
 */
export function pageQuery(
  families: readonly Family[],
  filter: DeliveryFilter,
  { before, after }: Place,
  limit: number,
): RawBuilder<DeliveryLine> {
  const order = after ? sql`id asc` : sql`id desc`;
  const place = after ? ids(sql`> ${after}::uuid`) : before ? ids(sql`< ${before}::uuid`) : sql`true`;
  const part = (status: DeliveryStatus) => sql`(
    select id, i.event, i.business_id, ${recordOf(families)} as record, i.event_time, s.received_at,
           ${status}::text as status, 1 + coalesce(r.count, 0) as delivery_count
    from ${sql.table(tables[status])} s
    join inbox i using (id)
    left join resends r using (id)
    where ${sql.join([place, ...conditions(filter, status)], sql` and `)}
    order by ${order} limit ${limit})`;
  const parts = filter.status ? [filter.status] : deliveryStatuses;
  return sql<DeliveryLine>`
    select * from (${sql.join(parts.map(part), sql` union all `)}) as found
    order by ${order} limit ${limit}`;
}

const tables = {
  received: 'pending_deliveries',
  applied: 'applied_deliveries',
  failed: 'failed_deliveries',
} satisfies Record<DeliveryStatus, string>;

function recordOf(families: readonly Family[]): RawBuilder<unknown> {
  const ids = families.flatMap(({ name, fields, identifiedBy }) =>
    identifiedBy ? sql`when ${name} then ${sql.raw(readField(fields, identifiedBy, 'i.envelope'))}` : [],
  );
  return sql`case i.family ${sql.join(ids, sql` `)} end`;
}

function conditions(filter: DeliveryFilter, status: DeliveryStatus): RawBuilder<unknown>[] {
  const { id, receipt, family, event, business, error, from, until } = filter;
  const { receivedFrom: first, receivedUntil: end } = filter;
  const applied = status === 'applied';
  return [
    id && ids(sql`= ${id}::uuid`),
    family && sql`s.family = ${family}`,
    event && sql`i.event = ${event}`,
    // Only the table of applied deliveries has, and needs, an index on the business.
    business && sql`${sql.ref(applied ? 's.business_id' : 'i.business_id')} = ${business}`,
    error && (status === 'failed' ? sql`s.error = ${error}` : sql`false`),
    from && ids(sql`>= ${idAt(from)}::uuid`),
    until && ids(sql`< ${idAt(until)}::uuid`),
    // The index of received_at holds days.
    first && sql`reporting.day(s.received_at) >= reporting.day(${first}) and s.received_at >= ${first}`,
    end && sql`reporting.day(s.received_at) <= reporting.day(${end}) and s.received_at < ${end}`,
    receipt && ofReceipt(receipt, applied),
  ].filter((condition) => typeof condition === 'object');
}

/** Of both tables: PostgreSQL does not conclude that a range of one is a range of the other. */
const ids = (condition: RawBuilder<unknown>) => sql`s.id ${condition} and i.id ${condition}`;

function ofReceipt(receipt: string, applied: boolean): RawBuilder<unknown> {
  return applied
    ? sql`id in (
        select delivery_id from receipts
        where business_id = any(array${businesses}) and receipt_id = ${receipt}::bigint
        union all
        select delivery_id from receipt_versions where receipt_id = ${receipt}::bigint)`
    : sql`s.family = 'receipt' and i.envelope #>> '{data,receipt_id}' = ${receipt}`;
}

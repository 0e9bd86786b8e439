import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';
import { businesses } from '../store.ts';
import type { DeliveryFilter } from './filter.ts';

type Columns = 'id' | 'event' | 'business_id' | 'event_time' | 'received_at' | 'status' | 'delivery_count';

export interface DeliveryLine extends Pick<Selectable<Tables['deliveries']>, Columns> {
  /** The id of the callback's receipt or form, where its family has one. */
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
  const { rows } = await pageQuery(families, filter, place, size + 1).execute(db);
  const more = rows.length > size;
  const shown = rows.slice(0, size);
  if (place.after) return { rows: shown.reverse(), older: true, newer: more };
  return { rows: shown, older: more, newer: place.before !== undefined };
}

/**
 * Ids sort by event time: their index finds any page, and a range of event times is a range of ids. Applied
 * deliveries and all others are read separately, because each part has its own indexes.
 */
export function pageQuery(
  families: readonly Family[],
  filter: DeliveryFilter,
  { before, after }: Place,
  limit: number,
): RawBuilder<DeliveryLine> {
  const order = after ? sql`id asc` : sql`id desc`;
  const place = after ? sql`id > ${after}::uuid` : before ? sql`id < ${before}::uuid` : sql`true`;
  const part = (applied: boolean) => sql`(
    select id, event, business_id, ${recordOf(families)} as record, event_time, received_at, status, delivery_count
    from deliveries
    where ${sql.join([place, ...conditions(filter, applied)], sql` and `)}
    order by ${order} limit ${limit})`;
  const parts = [true, false].filter(
    (applied) => !filter.status || (filter.status === 'applied') === applied,
  );
  return sql<DeliveryLine>`
    select * from (${sql.join(parts.map(part), sql` union all `)}) as found
    order by ${order} limit ${limit}`;
}

function recordOf(families: readonly Family[]): RawBuilder<unknown> {
  const names = new Set(families.flatMap(({ identifiedBy = [] }) => identifiedBy));
  return sql`coalesce(${sql.join([null, ...names].map((name) => sql`envelope #>> array['data', ${name}::text]`))})`;
}

function conditions(filter: DeliveryFilter, applied: boolean): RawBuilder<unknown>[] {
  const { id, receipt, family, event, business, status, error, from, until } = filter;
  const { receivedFrom: first, receivedUntil: end } = filter;
  return [
    applied ? sql`status = 'applied'` : sql`status <> 'applied'`,
    id && sql`id = ${id}::uuid`,
    family && sql`family = ${family}`,
    event && sql`event = ${event}`,
    business && sql`business_id = ${business}`,
    status && sql`status = ${status}`,
    error && sql`error = ${error}`,
    from && sql`id >= ${idAt(from)}::uuid`,
    until && sql`id < ${idAt(until)}::uuid`,
    // The index of received_at holds days.
    first && sql`reporting.day(received_at) >= reporting.day(${first}) and received_at >= ${first}`,
    end && sql`reporting.day(received_at) <= reporting.day(${end}) and received_at < ${end}`,
    receipt && ofReceipt(receipt, applied),
  ].filter((condition) => typeof condition === 'object');
}

function ofReceipt(receipt: string, applied: boolean): RawBuilder<unknown> {
  return applied
    ? sql`id in (
        select delivery_id from receipts
        where business_id = any(array${businesses}) and receipt_id = ${receipt}::bigint
        union all
        select delivery_id from receipt_versions where receipt_id = ${receipt}::bigint)`
    : sql`family = 'receipt' and envelope #>> '{data,receipt_id}' = ${receipt}`;
}

/** The least id of an event at this time; PostgreSQL accepts UUIDs without hyphens. */
function idAt(time: Date): string {
  return Math.max(0, time.getTime()).toString(16).padStart(12, '0').padEnd(32, '0');
}

import { type RawBuilder, type Selectable, sql } from 'kysely';
import { idAt } from '../common/uuid.ts';
import { eventsOf, type Family, publicKey, readKey } from '../families/index.ts';
import { allOf, businesses, read, takePage } from '../store/read.ts';
import { type Db, type DeliveryStatus, deliveryStatuses, type Tables } from '../store/tables.ts';

/** Which deliveries to list; undefined fields do not filter. */
export interface DeliveryFilter {
  id?: string | undefined;
  receipt?: string | undefined;
  family?: string | undefined;
  event?: string | undefined;
  business?: string | undefined;
  status?: DeliveryStatus | undefined;
  /** The exact text of `deliveries.error`. */
  error?: string | undefined;
  order?: 'event' | undefined;
  /** Event time. */
  since?: Date | undefined;
  until?: Date | undefined;
  receivedSince?: Date | undefined;
  receivedUntil?: Date | undefined;
}

type Columns = 'id' | 'event' | 'family' | 'business_id' | 'event_time' | 'received_at' | 'status';

export interface DeliveryLine extends Pick<Selectable<Tables['deliveries']>, Columns | 'delivery_count'> {
  /** The id of the callback's receipt, form, and so on, where its family has one. */
  record: string | null;
  /** Its place in the list, for the addresses of the next pages. */
  place: string;
}

/** Where a page begins: the place of the last delivery of the page before, in either direction. */
export type Place = { before?: string | undefined; after?: string | undefined };

/**
 * A page of deliveries: the newest first, by their arrival or by their event. With whether there are older and newer ones.
 */
export async function listDeliveries(
  db: Db,
  families: readonly Family[],
  filter: DeliveryFilter,
  place: Place,
  size = 50,
) {
  const found = await read(db, pageQuery(families, filter, place, size + 1));
  const { rows, more } = takePage(found, size);
  if (place.after) return { rows: rows.reverse(), older: true, newer: more };
  return { rows, older: more, newer: place.before !== undefined };
}

/**
 * Each status has its own table. A place holds all that orders a delivery, and none of it ever changes: so a page begins
 * where the one before ended, whatever arrived, was applied or was deleted meanwhile.
 */
export function pageQuery(
  families: readonly Family[],
  filter: DeliveryFilter,
  { before, after }: Place,
  limit: number,
): RawBuilder<DeliveryLine> {
  const keys = keysOf(filter);
  const direction = after ? sql`asc` : sql`desc`;
  const order = (row: string) => sql.join(keys.map((key) => sql`${key(...keyOf(row))} ${direction}`));
  const part = (status: DeliveryStatus) => sql`(
    select s.id, i.event, s.family, i.business_id, ${recordOf(families)} as record, i.event_time, s.received_at,
           ${status}::text as status, 1 + coalesce(r.count, 0) as delivery_count
    from ${sql.table(tables[status])} s
    join inbox i using (id)
    left join resends r using (id)
    where ${beyond(keys, before, after)} and ${conditions(families, filter, status)}
    order by ${order('s')} limit ${limit})`;
  const parts = filter.status ? [filter.status] : deliveryStatuses;
  return sql<DeliveryLine>`
    select *, (extract(epoch from received_at) * 1000000)::bigint || '.' || id as place
    from (${sql.join(parts.map(part), sql` union all `)}) as found
    order by ${order('found')} limit ${limit}`;
}

/** What a list is ordered by, and the SQL for it: of a row, or of a place. */
type Key = (received: RawBuilder<unknown>, id: RawBuilder<unknown>) => RawBuilder<unknown>;

/**
 * Ids sort by event time: their index finds any page, and a range of event times is a range of ids. The index on the
 * business holds the days of arrival, of which PostgreSQL then sorts one at a time.
 */
function keysOf({ order, business }: DeliveryFilter): Key[] {
  const byId: Key = (_, id) => id;
  if (order === 'event') return [byId];
  return [
    ...(business ? ([(received) => sql`reporting.day(${received})`] satisfies Key[]) : []),
    (received) => received,
    byId,
  ];
}

const keyOf = (row: string) => [sql.ref(`${row}.received_at`), sql.ref(`${row}.id`)] as const;

function beyond(keys: readonly Key[], before: string | undefined, after: string | undefined) {
  const place = after ?? before;
  if (!place) return sql`true`;
  const [micros, id] = place.split('.');
  const received = sql`('epoch'::timestamptz + ${micros}::bigint * interval '1 microsecond')`;
  const list = (...values: Parameters<Key>) => sql`(${sql.join(keys.map((key) => key(...values)))})`;
  const begin = sql`${after ? sql`>` : sql`<`} ${list(received, sql`${id}::uuid`)}`;
  return keys.length === 1 ? ids(begin) : sql`${list(...keyOf('s'))} ${begin}`;
}

const tables = {
  received: 'pending_deliveries',
  applied: 'applied_deliveries',
  failed: 'failed_deliveries',
} satisfies Record<DeliveryStatus, string>;

/** SQL for the id of what a row `i` with a family and an envelope is about. */
function recordOf(families: readonly Family[]): RawBuilder<unknown> {
  const ids = families.flatMap((family) =>
    publicKey(family) ? sql`when ${family.name} then (${sql.raw(readKey(family, 'i')!)})::text` : [],
  );
  return sql`case i.family ${sql.join(ids, sql` `)} end`;
}

function conditions(families: readonly Family[], filter: DeliveryFilter, status: DeliveryStatus) {
  const { id, receipt, event, business, error, since, until } = filter;
  const { receivedSince: first, receivedUntil: end } = filter;
  const applied = status === 'applied';
  // Without its family, every row of inbox would be read for a rare event.
  const family = filter.family ?? families.find((one) => event && eventsOf(one).includes(event))?.name;
  return allOf([
    sql`true`,
    id && ids(sql`= ${id}::uuid`),
    family && sql`s.family = ${family}`,
    event && sql`i.event = ${event}`,
    // Only the table of applied deliveries has, and needs, an index on the business.
    business && sql`${sql.ref(applied ? 's.business_id' : 'i.business_id')} = ${business}`,
    error && (status === 'failed' ? sql`s.error = ${error}` : sql`false`),
    // An event further ahead of its arrival than a day is refused; the clocks may differ, too.
    since &&
      sql`${ids(sql`>= ${idAt(since)}::uuid`)} and s.received_at >= ${since}::timestamptz - interval '2 days'`,
    until && ids(sql`< ${idAt(until)}::uuid`),
    first && sql`s.received_at >= ${first}`,
    end && sql`s.received_at < ${end}`,
    business && first && sql`reporting.day(s.received_at) >= reporting.day(${first})`,
    business && end && sql`reporting.day(s.received_at) <= reporting.day(${end})`,
    receipt && ofReceipt(receipt, applied),
  ]);
}

/** A condition on both tables: PostgreSQL does not conclude that a range of one is a range of the other. */
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

/** A delivery, and the `text` of its envelope as PostgreSQL writes it: numbers with all their digits. */
type DeliveryDetails = Selectable<Tables['deliveries']> & Pick<DeliveryLine, 'record'> & { text: string };

export async function readDelivery(db: Db, families: readonly Family[], id: string) {
  const query = sql<DeliveryDetails>`
    select *, jsonb_pretty(envelope) as text, ${recordOf(families)} as record
    from deliveries i where id = ${id}::uuid`;
  return (await read(db, query))[0];
}

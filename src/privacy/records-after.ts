import { type RawBuilder, sql } from 'kysely';
import type { RecordKey } from '../callbacks/delivery.ts';
import type { Db } from '../receiver/store/tables.ts';

/**
 * The records of stored callbacks, in the order of their keys and in steps: each is a query of its own, so what is stored meanwhile
 * behind it is read, too.
 *
 * @param condition of a callback; undefined: all
 */
export async function* recordsAfter(
  db: Db,
  condition: RawBuilder<boolean> | undefined,
  maxRecords: number,
): AsyncGenerator<RecordKey[]> {
  let last: RecordKey | undefined;
  do {
    let query = db
      .selectFrom('receiver.inbox')
      .distinct()
      .select(['business_id as businessId', 'family', 'record_id as recordId'])
      .orderBy('business_id')
      .orderBy('family')
      .orderBy('record_id')
      .limit(maxRecords);
    if (condition) query = query.where(condition);
    if (last)
      query = query.where(
        sql<boolean>`(business_id, family, record_id) > (${last.businessId}, ${last.family}, ${last.recordId})`,
      );
    const records = await query.execute();
    if (records.length > 0) yield records;
    last = records.length === maxRecords ? records.at(-1) : undefined;
  } while (last);
}

import type { RawBuilder } from 'kysely';
import { allowBitmaps } from '../privacy/find-deliveries.ts';
import { read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { setPlanForAnySize } from '../store/transactions.ts';

/** Runs a query with look-ups in indexes alone: the planner has no statistics of the terms. */
export const readByIndexes = <Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> =>
  db.transaction().execute(async (tx) => {
    await setPlanForAnySize(tx);
    await allowBitmaps(tx);
    return read(tx, query);
  });

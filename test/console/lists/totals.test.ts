import { lists } from '../../../src/console/lists/definitions.ts';
import { maxCounted, readTotals } from '../../../src/console/lists/query.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase();

it('rows are counted up to a limit, and beyond it not summed', async () => {
  const insert = (from: number, to: number) =>
    database.rows(
      `insert into review_requests (business_id, client_id, last_event, event_time, extra, delivery_id)
       select 'b1', 'c', 'review', now(), '{}', gen_random_uuid() from generate_series($1::int, $2) n`,
      [from, to],
    );
  const list = lists.find((one) => one.name === 'papers')!;
  const query = { list, entered: {}, isPersonal: true, businesses: ['b1'] };
  await insert(1, maxCounted);
  expect(await readTotals(database.db, query)).toMatchObject({ rows: maxCounted });
  await insert(0, 0);
  expect(await readTotals(database.db, query)).toEqual({ rows: maxCounted + 1, sums: {} });
});

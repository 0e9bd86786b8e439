import fc from 'fast-check';
import type pg from 'pg';
import { numberChanges, openFeed } from '../../src/changes/open-feed.ts';
import { type PageDependencies, readPage } from '../../src/changes/read-page.ts';
import { createRecordReader, readColumns } from '../../src/changes/read-records.ts';
import { families } from '../../src/families/index.ts';
import { recordChanges } from '../../src/store/changed-records.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

/** A transaction that is open changes receipts; others begin and end meanwhile. */
type Step =
  | { do: 'change' | 'delete'; writer: number; receipt: number }
  | { do: 'commit' | 'rollback'; writer: number }
  | { do: 'number' }
  | { do: 'read'; consumer: number; limit: number };

const writers = 3;
const consumers = 3;
const receipts = 5;
const writer = fc.nat(writers - 1);
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('change' as const, 'change' as const, 'delete' as const),
        writer,
        receipt: fc.nat(receipts - 1),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('commit' as const, 'commit' as const, 'rollback' as const),
        writer,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('number' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('read' as const),
        consumer: fc.nat(consumers - 1),
        limit: fc.integer({ min: 1, max: 3 }),
      }),
    },
  ) as fc.Arbitrary<Step>,
  { minLength: 10, maxLength: 40 },
);

const one = (receipt: string) => `select 'receipt' as family, 'b' as business_id, ${receipt}::text as id`;
const change = `
  with made as (
    insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, received_at, applied_at)
    values ('b', $1::bigint, '', 'receipt.created', now(), jsonb_build_object('n', $2::int), gen_random_uuid(), now(), now())
    on conflict (business_id, receipt_id) do update set delivery_id = excluded.delivery_id
  ) ${recordChanges('changed', one('$1::bigint'))}`;
const remove = `
  with gone as (delete from receipts where business_id = 'b' and receipt_id = $1::bigint and $2::int is not null returning 1)
  ${recordChanges('deleted', `${one('$1::bigint')} where exists (select from gone)`)}`;

const page = (dependencies: PageDependencies, after: string | undefined, limit: number) =>
  readPage(dependencies, { after, families, businessId: undefined, limit, isPublic: false });

it('whoever reads, from whenever on, ends with exactly the rows, however transactions overlap', async () => {
  const secret = await openFeed(database.db);
  const records = createRecordReader(await readColumns(database.db, families));
  const dependencies = { db: database.db, secret, families, records };
  const held = { analyst: await database.owner.pool.connect() };
  // A reader in a long transaction, with and without a number of its own.
  await held.analyst.query('begin isolation level repeatable read; select pg_current_xact_id()');
  const clients: pg.PoolClient[] = [];
  for (let n = 0; n < writers; n += 1) clients.push(await database.pool.connect());
  try {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        await database.rows('truncate receipts, receipt_versions');
        await database.rows('truncate changed_records');
        const isOpen = new Set<number>();
        const lockedBy = new Map<number, number>();
        const seen = Array.from({ length: consumers }, () => ({
          after: undefined as string | undefined,
          rows: new Map<string, { version: number; delivery: unknown }>(),
        }));
        const read = async (consumer: number, limit: number) => {
          const state = seen[consumer]!;
          const found = await page(dependencies, state.after, limit);
          for (const { json } of found.changes) {
            const { id, version, record } = JSON.parse(json);
            if ((state.rows.get(id)?.version ?? 0) <= version)
              state.rows.set(id, { version, delivery: record?.delivery_id });
          }
          state.after = found.next;
          return found.more;
        };
        const end = async (n: number, how: string) => {
          if (!isOpen.delete(n)) return;
          await clients[n]!.query(how);
          for (const [receipt, by] of lockedBy) if (by === n) lockedBy.delete(receipt);
        };
        for (const [index, step] of list.entries()) {
          if (step.do === 'number') await numberChanges(database.db, index % 5 === 0);
          else if (step.do === 'read') await read(step.consumer, step.limit);
          else if (!('receipt' in step)) await end(step.writer, step.do);
          else {
            // A record is one transaction's until that ends.
            if ((lockedBy.get(step.receipt) ?? step.writer) !== step.writer) continue;
            const client = clients[step.writer]!;
            if (!isOpen.has(step.writer)) await client.query('begin');
            isOpen.add(step.writer);
            lockedBy.set(step.receipt, step.writer);
            await client.query(step.do === 'change' ? change : remove, [step.receipt, index]);
          }
        }
        for (let n = 0; n < writers; n += 1) await end(n, 'commit');
        const expected = Object.fromEntries(
          (await database.rows('select receipt_id, delivery_id from receipts')).map((row) => [
            row.receipt_id,
            row.delivery_id,
          ]),
        );
        for (let consumer = 0; consumer < consumers; consumer += 1) {
          while (await read(consumer, 2));
          const rows = [...seen[consumer]!.rows].filter(([, { delivery }]) => delivery !== undefined);
          expect(Object.fromEntries(rows.map(([id, { delivery }]) => [id, delivery]))).toEqual(expected);
        }
      }),
      { numRuns: 15 },
    );
  } finally {
    for (const client of [...clients, held.analyst]) {
      await client.query('rollback');
      client.release();
    }
  }
});

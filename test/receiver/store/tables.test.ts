import { Kysely, PostgresDialect } from 'kysely';
import type { Tables } from '../../../src/receiver/store/tables.ts';

// Statements are built, and none is run.
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: {} as never }) });

it('a renamed column is an error of the compiler, in tables of ours, of families and in views', () => {
  const waiting = db.selectFrom('receiver.pending_deliveries');
  const receipts = db.selectFrom('public.receipts');
  const deliveries = db.selectFrom('public.deliveries');
  const statements = [
    waiting.select('next_at').where('attempts', '>', 1),
    receipts.select('net_amount').where('receipt_id', '=', '7'),
    deliveries.select('delivery_count').where('status', '=', 'failed'),
    // @ts-expect-error: next_at
    waiting.select('due_at'),
    // @ts-expect-error: error
    db.updateTable('receiver.pending_deliveries').set({ reason: null }),
    // @ts-expect-error: family is required
    db.insertInto('receiver.pending_deliveries').values({ id: 'a' }),
    // @ts-expect-error: net_amount
    receipts.select('total'),
    // @ts-expect-error: a time is no number
    receipts.where('created_at', '=', 7),
    // @ts-expect-error: no such status
    deliveries.where('status', '=', 'done'),
  ];
  expect(statements.map((statement) => statement.compile().sql)).toHaveLength(9);
});

import fc from 'fast-check';
import { connect } from '../../support/database.ts';
import { receiptOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase('test');

/** Numbers of receipts in one commit; or many commits without a resend. */
const step = fc.oneof(
  fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }).map((ids) => [ids]),
  fc.nat(99).map((first) => Array.from({ length: 22 }, (_, n) => [1_000 + 100 * first + n])),
);

it('each callback is stored once, and each of its resends counted, whatever came before', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
    const { pool, store, rows, count } = connect(database.url, 2);
    try {
      await rows('truncate receiver.inbox, receiver.pending_deliveries, receiver.resends');
      const copies = new Map<number, number>();
      for (const ids of steps.flat()) {
        const expected = ids.map((id) => {
          copies.set(id, (copies.get(id) ?? 0) + 1);
          return copies.get(id) === 1 ? 'accepted' : 'duplicate';
        });
        expect(await store(...ids.map((id) => receiptOf(id)))).toEqual(expected);
      }
      const stored = await rows(
        'select record_id::int as id, delivery_count as count from deliveries join receiver.inbox using (id)',
      );
      expect(new Map(stored.map(({ id, count }) => [id, count]))).toEqual(copies);
      expect(await count('receiver.pending_deliveries')).toBe(copies.size);
    } finally {
      await pool.end();
    }
  });
  await fc.assert(property, { numRuns: 20 });
});

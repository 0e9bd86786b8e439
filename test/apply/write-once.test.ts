import fc from 'fast-check';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { deliveryStatuses } from '../../src/store/tables.ts';
import { history, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear, insertCallbacks } from '../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

// Fails because of its data.
const faulty = receiptCallback({ data: { receipt_id: 99, archive: 1e30 } });

const steps = fc.array(
  fc.record({
    from: fc.nat(),
    count: fc.integer({ min: 1, max: 6 }),
    step: fc.constantFrom('resend', ...deliveryStatuses),
  }),
  { maxLength: 10 },
);

it('whatever happens to a delivery, its row is written once, and it has exactly one status', async () => {
  await fc.assert(
    fc.asyncProperty(history, steps, async (callbacks, order) => {
      await clear(database);
      const all = [...callbacks, faulty];
      const ids = await insertCallbacks(database, all);
      const count = new Map<string, number>();
      for (const id of ids) count.set(id, (count.get(id) ?? 0) + 1);
      const written = () => database.rows('select id, ctid::text, xmin::text from inbox order by id');
      const before = await written();

      for (const { from, count: some, step } of order) {
        const at = from % all.length;
        if (step === 'resend') {
          for (const id of await insertCallbacks(database, all.slice(at, at + some))) {
            count.set(id, count.get(id)! + 1);
          }
        } else {
          await applyDeliveries(database.db, families, ids.slice(at, at + some), { status: step });
        }
      }

      expect(await written()).toEqual(before);
      const statuses = await database.rows(`
        select id, delivery_count from deliveries d where (status = 'failed') = (error is not null)
          and (status = 'applied') = (applied_at is not null) order by id`);
      expect(statuses.map((row) => [row.id, row.delivery_count])).toEqual([...count].sort());
    }),
    { numRuns: 12 },
  );
});

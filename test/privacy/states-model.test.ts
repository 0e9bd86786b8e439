import fc from 'fast-check';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { checkAllStates } from '../../src/privacy/check-states.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { isLocked } from '../../src/store/faults.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear, erasureTables } from '../support/deliveries.ts';

const database = useDatabase();

const actor = { id: 'test' };
const settings = { actor, keepMs: 86_400_000 };
const now = Math.floor(Date.now() / 1000);
const day = 86_400;

/** Versions of four receipts of two patients, of which some name nobody, and some are older than what retention keeps. */
const callbacks = [1, 2, 3, 4].flatMap((receipt_id) =>
  [0, 1, 2, 3, 4].map((version) =>
    receiptCallback({
      event_time: now - (version < 2 ? 10 * day : 60) + version,
      data: {
        receipt_id,
        net_amount: version,
        patient_oid: version === 3 ? undefined : receipt_id < 3 ? 'p1' : 'p2',
      },
    }),
  ),
);
const deliveries = callbacks.map(deliveryOf);

type Step =
  | { act: 'deliver'; which: number[] }
  | { act: 'lose'; table: 'pending' | 'applied' | 'failed'; some: number }
  | { act: 'erase'; patient: 'p1' | 'p2' }
  | { act: 'apply' | 'check' | 'expire' | 'replay' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('deliver' as const),
      which: fc.uniqueArray(fc.nat(deliveries.length - 1), { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('lose' as const),
      table: fc.constantFrom('pending', 'applied', 'failed'),
      some: fc.nat(15),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('erase' as const), patient: fc.constantFrom('p1', 'p2') }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constantFrom('apply', 'apply', 'check', 'check', 'expire', 'replay'),
    }),
  },
);

const ids = deliveries.map(({ id }) => id);
const applyAll = () => applyDeliveries(database.db, families, ids);
const checkAll = () => checkAllStates(database.db, families, settings, () => {});

async function run(one: Step): Promise<unknown> {
  switch (one.act) {
    case 'deliver':
      return insertDeliveries(
        database.pool,
        one.which.map((index) => deliveries[index]!),
      );
    case 'lose':
      // About half of the rows, others each time.
      return database.rows(
        `delete from ${one.table}_deliveries where get_bit(decode(md5(id::text), 'hex'), $1) = 1`,
        [one.some],
      );
    case 'erase':
      return erasePatient(database.db, families, { id: one.patient }, settings);
    case 'apply':
      return applyAll();
    case 'check':
      return checkAll();
    case 'expire':
      return runRetention(database.db, families, { receipt: 5 * day * 1000 }, { actor });
    case 'replay':
      return replayDeliveries(database.db, families, { status: 'applied' }, { dryRun: false });
  }
}

/** As their callers do, after a deadlock. */
const retried = (one: Step): Promise<unknown> =>
  run(one).catch((error) => (isLocked(error) ? retried(one) : Promise.reject(error)));

const statesOf = `
  select id, (select count(*) from pending_deliveries s where s.id = i.id) +
             (select count(*) from applied_deliveries s where s.id = i.id) +
             (select count(*) from failed_deliveries s where s.id = i.id) as states from inbox i`;

it('whatever loses states, beside erasure, retention, resends and replays: each delivery has one in the end, and each row is right', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 2 }), { maxLength: 14 }),
      async (steps) => {
        await clear(database, ...erasureTables, 'lost_deliveries');
        // The steps of an element run at the same time, as those of two processes.
        for (const together of steps) await Promise.all(together.map(retried));
        await checkAll();
        await applyAll();

        expect(await database.rows(`select id from (${statesOf}) counted where states <> 1`)).toEqual([]);
        expect(
          await database.rows(`select status, count(*) from deliveries where status <> 'applied' group by 1`),
        ).toEqual([]);
        expect(await database.rows('select 1 from lost_deliveries')).toEqual([]);
        const stored = (await database.rows('select id from inbox')).map(({ id }) => id as string);
        // One row or version of each, and the newest of a receipt is its row.
        const rows = await database.rows('select receipt_id::int, delivery_id as id from receipts');
        const versions = await database.rows(
          'select receipt_id::int, delivery_id as id from receipt_versions',
        );
        expect([...rows, ...versions].map(({ id }) => id).toSorted()).toEqual(stored.toSorted());
        const newest = new Map<number, string>();
        for (const [index, { data, event_time }] of callbacks.entries()) {
          const { id } = deliveries[index]!;
          if (stored.includes(id) && event_time) newest.set(Number(data.receipt_id), id);
        }
        expect(new Map(rows.map(({ receipt_id, id }) => [receipt_id, id]))).toEqual(newest);
        // Nothing of what was erased is there.
        const erased = steps.flat().flatMap((one) => (one.act === 'erase' ? [one.patient] : []));
        expect(
          await database.rows(
            `
          select patient_oid from receipts where patient_oid = any($1)
          union all select patient_oid from receipt_versions where patient_oid = any($1)
          union all select patient_of(envelope) from inbox where patient_of(envelope) = any($1)`,
            [erased],
          ),
        ).toEqual([]);
        expect(
          await database.rows(`
          select refused_deliveries(array_agg(id), array_agg(family), array_agg(envelope), array_agg(to_jsonb(patients_of(envelope, patients))))
          from inbox where envelope ? 'event_time'`),
        ).toEqual([]);
      },
    ),
    { numRuns: 10, endOnFailure: false },
  );
});

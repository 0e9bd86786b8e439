import fc from 'fast-check';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { createLeases } from '../../src/store/lease.ts';
import { areTermsIncomplete, updateTerms } from '../../src/store/search-terms.ts';
import { createTermsUpdate } from '../../src/worker/search-terms.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, erasureTables } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const actor = { id: 'tester' };
const start = 1_700_000_000;

const updateAll = async () => {
  while ((await updateTerms(database.db)).hasMore);
};
const termsOf = async (condition = 'true') =>
  (
    await database.rows(
      `select receipt_id::int as id, terms::text from receipt_terms where ${condition} order by id`,
    )
  ).map(({ id, terms }) => [id, String(terms).replaceAll("'", '').split(' ')]);
const wrong = () =>
  database.rows(`
    select business_id, receipt_id from (
      select business_id, receipt_id, terms from receipt_terms
      except select business_id, receipt_id, receipt_terms_of(name, mobile, receipt_number) from receipts
    ) made
    union all
    select business_id, receipt_id from (
      select business_id, receipt_id, receipt_terms_of(name, mobile, receipt_number) as terms from receipts
      except select business_id, receipt_id, terms from receipt_terms
    ) missing where terms <> ''`);
const receipt = (receipt_id: number, data: object, at = start, event = 'receipt.created') =>
  receiptCallback({ event: event as never, event_time: at, data: { receipt_id, ...data } });

beforeEach(() => clear(database, ...erasureTables));

it('a receipt has each word of the name, the end of the phone number and the parts of its number as terms', async () => {
  await apply(database, [
    receipt(1, { name: "Asha D'Souza-Rao", mobile: '+91 98765 43210', receipt_number: 'R-42/B' }),
    receipt(2, { name: 'आशा राव', mobile: '', receipt_number: 7 }),
    receipt(3, { name: null, mobile: null, receipt_number: null }),
  ]);
  await updateAll();
  expect(await termsOf()).toEqual([
    [1, ['#42b', '#r42', 'nasha', 'nd', 'nrao', 'nsouza', 'p0123456789']],
    [2, ['#7', 'nआशा', 'nराव']],
  ]);
});

it('only changes of what is searched are looked at, and nothing twice', async () => {
  await apply(database, [receipt(1, { name: 'Asha' })]);
  await updateAll();
  await apply(database, [receipt(1, { name: 'Asha', amount_paid: 1 }, start + 1, 'receipt.updated')]);
  expect(await updateTerms(database.db)).toEqual({ receipts: 0, hasMore: false });
  await apply(database, [receipt(1, { name: 'Meera' }, start + 2, 'receipt.updated')]);
  expect(await updateTerms(database.db)).toEqual({ receipts: 1, hasMore: true });
  expect(await wrong()).toEqual([]);
});

it('what came before is made business by business, in steps, and a search can tell until then', async () => {
  await apply(database, [
    ...Array.from({ length: 30 }, (_, index) => receipt(index, { name: `N${index}` })),
    { ...receipt(1, { name: 'Other' }), business_id: 'b2' },
  ]);
  await database.rows(`
    delete from outdated_terms;
    insert into outdated_terms (business_id, receipt_id, and_later) select distinct business_id, -1, true from receipts`);
  expect(await areTermsIncomplete(database.db)).toBe(true);
  await updateAll();
  expect([await areTermsIncomplete(database.db), await wrong()]).toEqual([false, []]);
  expect(await termsOf()).toHaveLength(31);
});

it('what an erasure has listed gets no terms, and a step waits for statements that an erasure waits for', async () => {
  const [id] = await apply(database, [receipt(1, { name: 'Asha' }), receipt(2, { name: 'Ravi' })]);
  await database.rows(
    `insert into erasing (id, erasure_id, family, thing_family, business_id) values ($1, gen_random_uuid(), 'receipt', 'receipt', '')`,
    [id],
  );
  const locking = await database.pool.connect();
  await locking.query('begin; lock table erased in exclusive mode');
  const updating = createTermsUpdate(database.db, createLeases(database.db), new AbortController().signal)();
  await until(async () => {
    const waiting = await database.rows(
      `select 1 from pg_locks where relation = 'erased'::regclass and not granted`,
    );
    return waiting.length > 0;
  });
  expect(await termsOf()).toEqual([]);
  await locking.query('commit');
  locking.release();
  await updating;
  expect((await termsOf()).map(([receiptId]) => receiptId)).toEqual([2]);
  await database.rows('delete from erasing');
});

const names = ['Asha Rao', 'Meera Iyer', 'रवि', ''] as const;
const act = fc.oneof(
  fc.record({
    kind: fc.constantFrom('receipt.created', 'receipt.updated', 'receipt.deleted'),
    id: fc.integer({ min: 1, max: 4 }),
    patient: fc.constantFrom('p0', 'p1', 'p2'),
    name: fc.constantFrom(...names),
    at: fc.integer({ min: 0, max: 9 }),
  }),
  fc.record({ kind: fc.constantFrom('update', 'retention') }),
);

it('after any history the terms are those of the rows, and an erasure takes the patient’s along at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
      await clear(database, ...erasureTables);
      for (const one of acts) {
        if ('id' in one) {
          const data = { patient_oid: one.patient, name: `${one.name} ${one.patient}`, updated_at: one.at };
          await apply(database, [receipt(one.id, data, start + one.at, one.kind)]);
        } else if (one.kind === 'update') await updateTerms(database.db);
        else
          await runRetention(database.db, families, { receipt: Date.now() - (start + 3) * 1_000 }, { actor });
      }
      await erasePatient(database.db, families, { id: 'p0' }, { actor, keepMs: 0 });
      expect(await termsOf(`terms @@ 'np0'`)).toEqual([]);
      await updateAll();
      expect([await wrong(), await termsOf(`terms @@ 'np0'`)]).toEqual([[], []]);
    }),
    { numRuns: 5 },
  );
});

it('no sample of the terms is kept in the statistics', async () => {
  await apply(
    database,
    Array.from({ length: 20 }, (_, index) => receipt(index, { name: 'Asha' })),
  );
  await updateAll();
  await database.rows('analyze receipt_terms');
  expect(
    await database.rows(
      `select attname from pg_stats where tablename = 'receipt_terms' and attname = 'terms'`,
    ),
  ).toEqual([]);
});

it('emptying the receipts empties the terms', async () => {
  await apply(database, [receipt(1, { name: 'Asha' })]);
  await updateAll();
  await apply(database, [receipt(2, { name: 'Meera' })]);
  await database.rows('truncate receipts');
  expect([await termsOf(), (await updateTerms(database.db)).receipts]).toEqual([[], 0]);
});

import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { type Family, families, other } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { type Callback, deliveryOf, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, erasureTables } from '../support/deliveries.ts';
import { readPatient } from '../support/held.ts';

const database = useDatabase();
const added = ['health_account', 'care_context', 'booking'] as const;
const tables = families.filter(({ name }) => added.includes(name as never)).map(({ table }) => table);
beforeEach(() => clear(database, ...erasureTables, ...tables, 'other_events'));

const options = { actor: { id: 'tester' }, keepMs: 1e9 };
const replay = () => replayDeliveries(database.db, families, { family: 'other' }, { dryRun: false });
const countRows = async () => {
  const counts = await Promise.all(tables.map((table) => database.rows(`select from ${table}`)));
  return counts.map(({ length }) => length);
};

const id = '161467756044204';
const mine = added.map((name) => samples[name]());
const ofAnother = [
  samples.health_account({
    data: { abha_address: 'b', abha_number: 'b', oid: 'b', partner_patient_id: 'b' },
  }),
  samples.care_context({
    data: { care_context_id: 'b', abha_address: 'b', oid: 'b', partner_patient_id: 'b' },
  }),
  samples.booking({ data: { order_id: 'b', patient: { id: 'b' } } }),
];

/** As a version did that had none of these families. */
const storeAsOther = async (callbacks: Callback[]) => {
  const deliveries = callbacks.map((callback) => ({ ...deliveryOf(callback), family: other.name }));
  await insertDeliveries(database.pool, deliveries);
  const earlier = families.filter(({ name }) => !added.includes(name as never)) as readonly Family[];

  await applyDeliveries(
    database.db,
    earlier,
    deliveries.map((delivery) => delivery.id),
  );
};

it('a health account is one row with its patient, whatever the order of its callbacks', async () => {
  const [account] = mine;
  const created = { ...account!, event: 'abha.created', event_time: 1_600_000_000 };
  await apply(database, [account!, created, account!]);
  expect(await database.rows('select patient_id, last_event from reporting.health_accounts')).toEqual([
    { patient_id: id, last_event: 'abha.hip_profile_share' },
  ]);
});

it.each(['', ' that a former version stored as other events, after a replay'])(
  'health accounts, care contexts and bookings%s are found, exported and erased by the id of the patient, and do not come back',
  async (stored) => {
    if (stored) {
      await storeAsOther([...mine, ...ofAnother]);
      expect(await replay()).toMatchObject({ applied: 6, changed: 6, failed: 0 });
    } else await apply(database, [...mine, ...ofAnother]);
    expect(await countRows()).toEqual([2, 2, 2]);
    const expected = { deliveries: 3, health_accounts: 1, care_contexts: 1, bookings: 1 };
    const { counts } = await readPatient(database, families, { id });
    expect(counts).toMatchObject(expected);
    const erased = await erasePatient(database.db, families, { id }, options);
    expect(erased.counts).toMatchObject(expected);
    expect(await countRows()).toEqual([1, 1, 1]);
    expect(await insertDeliveries(database.pool, mine.map(deliveryOf))).toEqual([
      'erased',
      'erased',
      'erased',
    ]);
  },
);

it.each(['abha_address', 'abha_number', 'oid', 'partner_patient_id'])(
  'a health account is erased by its %s',
  async (key) => {
    await apply(database, [mine[0]!, ofAnother[0]!]);
    const patient = { id: String(mine[0]!.data[key]) };
    expect((await erasePatient(database.db, families, patient, options)).counts).toMatchObject({
      health_accounts: 1,
    });
    expect(await countRows()).toEqual([1, 0, 0]);
  },
);

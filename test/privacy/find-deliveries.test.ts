import { randomUUID } from 'node:crypto';
import { families } from '../../src/families/index.ts';
import { findDeliveries } from '../../src/privacy/find-deliveries.ts';
import { withPlanForAnySize } from '../../src/store/transactions.ts';
import { deliveryOf, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const database = useDatabase();

const indexScans = async () => {
  const [row] = await database.rows(
    `select idx_scan::int as scans from pg_stat_user_indexes where indexrelname = 'inbox_thing'`,
  );
  return row!.scans as number;
};

it.each([
  ['consent_form', 'id', 'patientid'],
  ['prescription', 'prescription_id', 'patient_id'],
  ['admission', 'id', 'pid'],
] as const)(
  'deliveries of the family %s that name nobody are found by an index',
  async (family, id, patientField) => {
    const of = (number: number, patient: string | null) =>
      samples[family]({
        event_time: 1_700_000_000,
        data: { [id]: `t${number}`, partner_patient_id: null, [patientField]: patient },
      });
    await apply(
      database,
      Array.from({ length: 2_000 }, (_, number) => of(number, `other-${number}`)),
    );
    const named = of(-1, 'patient');
    const nameless = of(-1, null);
    await apply(database, [named, nameless]);
    await database.rows('analyze inbox');
    const before = await indexScans();
    const list = randomUUID();
    await withPlanForAnySize(database.db, (tx) => findDeliveries(tx, families, { id: 'patient' }, list));
    const ids = (await database.rows('select id from erasing')).map((row) => row.id);
    await database.rows('truncate erasing');
    expect(ids.toSorted()).toEqual([named, nameless].map((callback) => deliveryOf(callback).id).toSorted());
    await until(async () => (await indexScans()) > before);
    await database.rows('delete from inbox');
  },
);

import { receiptCallback } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { parseCsv } from './read-files.ts';
import { now } from './times.ts';

const { database, visitor } = useConsole();
beforeEach(() => clear(database));

describe('dues', () => {
  const due = (receipt_id: number, daysAgo: number, data: object = {}) =>
    receiptCallback({
      event_time: now() - daysAgo * 86_400,
      data: { receipt_id, created_at: Date.now() - daysAgo * 86_400_000, amount_due: 100, ...data },
    });
  const ids = (csv: string) => {
    const [head, ...rows] = parseCsv(csv);
    return rows.map((row) => row[head!.indexOf('receipt_id')]);
  };

  it('of a single receipt are found by its id, without ages', async () => {
    await apply(database, [due(1, 0), due(2, 500)]);
    const page = await visitor.read('/reports/outstanding_receipts?receipt=2');
    expect(page).toContain('1 row.');
    expect(page).not.toContain('Amount due by age');
  });

  it('are of all days, the oldest first, and counted by age', async () => {
    await apply(database, [
      due(1, 0),
      due(2, 7),
      due(3, 8),
      due(4, 30),
      due(5, 31),
      due(6, 90),
      due(7, 91),
      due(8, 500),
    ]);
    expect(ids(await visitor.read('/reports/outstanding_receipts/csv'))).toEqual([...'87654321']);
    const byAge = { '0_to_7': '21', '8_to_30': '43', '31_to_90': '65', over_90: '87' };
    const page = await visitor.read('/reports/outstanding_receipts');
    for (const [age, expected] of Object.entries(byAge)) {
      expect(page).toContain(
        `age=${age}">${age.replaceAll('_', ' ')} days</a></td><td class="number">2</td><td class="number">₹200.00<`,
      );
      expect(ids(await visitor.read(`/reports/outstanding_receipts/csv?age=${age}`))).toEqual([...expected]);
    }
  });

  it('are summed per phone in any spelling; the phone and its patients are shown only when it is logged', async () => {
    await apply(database, [
      due(1, 1, { mobile: '+91 98765 43210', patient_oid: 'patient-1' }),
      due(2, 2, { mobile: '09876543210', patient_oid: 'patient-2' }),
      due(3, 3, { mobile: '', patient_oid: 'patient-1' }),
      due(4, 4, { mobile: '', patient_oid: 'patient-3' }),
    ]);
    const [head, ...rows] = parseCsv(await visitor.read('/reports/outstanding_by_phone/csv'));
    const read = (name: string) => rows.map((row) => row[head!.indexOf(name)]);
    expect(head).not.toContain('mobile');
    expect([read('receipts'), read('due_amount')]).toEqual([
      ['2', '1', '1'],
      ['200', '100', '100'],
    ]);
    expect(await visitor.read('/reports/outstanding_by_phone')).not.toMatch(/43210|patient-/);
    for (const path of ['personal', 'xlsx']) {
      await visitor.post(`/reports/outstanding_by_phone/${path}`);
      const [entry] = await database.rows(
        'select cardinality(patients) as patients, rows from access_log order by entry desc limit 1',
      );
      expect([path, entry]).toEqual([path, { patients: 3, rows: '3' }]);
    }
  });
});

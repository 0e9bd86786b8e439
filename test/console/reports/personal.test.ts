import { families } from '../../../src/families/index.ts';
import { readColumns } from '../../../src/reports/columns.ts';
import type { Report } from '../../../src/reports/report.ts';
import { reports } from '../../../src/reports/reports.ts';
import { updateTerms } from '../../../src/store/search-terms.ts';
import { receiptCallback } from '../../support/callbacks.ts';
import { canary, canaryOf } from '../../support/canary.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { visitAs } from '../visitor.ts';
import { parseCsv, readXlsx } from './read-files.ts';
import { today } from './times.ts';

const { database, service, visitor, logged } = useConsole();
beforeEach(() => clear(database));

/** Reports with personal columns of which nothing is sent here. */
const withoutRows = new Set(['deleted_receipts', 'duplicate_receipts', 'practice_changes']);

const isPersonal = async (report: Report) =>
  (await readColumns(database.db, report)).some((column) => column.personal);

it('personal data is shown and downloaded only by a posted form, and logged', async () => {
  await apply(
    database,
    families.map((family) => canaryOf(family, today())),
  );
  const personal: Report[] = [];
  for (const report of reports.filter(({ view }) => !withoutRows.has(view))) {
    if (await isPersonal(report)) personal.push(report);
  }
  expect(personal.length).toBeGreaterThan(15);
  for (const { view } of reports) {
    expect(await visitor.read(`/reports/${view}`)).not.toContain(canary);
    expect(await visitor.read(`/reports/${view}/csv`)).not.toContain(canary);
    expect(JSON.stringify(await readXlsx(await visitor.get(`/reports/${view}/xlsx`)))).not.toContain(canary);
  }
  for (const { view } of personal) {
    logged.length = 0;
    expect(await (await visitor.post(`/reports/${view}/personal`)).text()).toContain(canary);
    expect(await (await visitor.post(`/reports/${view}/csv`)).text()).toContain(canary);
    const entries = await database.rows('select action, filter from access_log order by entry desc limit 2');
    expect(entries).toMatchObject([
      { action: 'download', filter: { report: view } },
      { action: 'reveal', filter: { report: view } },
    ]);
    expect(logged.join()).not.toContain(canary);
  }
});

it('every report with personal data has the patient, for the access log', async () => {
  for (const report of reports) {
    const columns = await readColumns(database.db, report);
    const personal = columns.filter((column) => column.personal).map(({ name }) => name);
    const patients = personal.includes('patient_ids') ? 'patient_ids' : 'patient_id';
    if (personal.length > 0) {
      expect([report.view, personal]).toEqual([report.view, expect.arrayContaining([patients])]);
    }
  }
});

it('one who may see patients filters a report by a name or a phone; the patient is posted, and in the log', async () => {
  const of = (id: number, patient_oid: string, name: string, mobile: string) =>
    receiptCallback({
      ...today(),
      data: { receipt_id: id, patient_oid, name, mobile, net_amount: id, created_at: Date.now() },
    });
  await apply(database, [
    of(101, 'p-1', 'Asha Rao', '+919876543210'),
    of(102, 'p-2', 'Asha Menon', '+919876500000'),
    of(103, 'p-1', 'Asha Rao', '+919876543210'),
  ]);
  while ((await updateTerms(database.db)).hasMore);
  const find = async (who: string) => (await visitor.post('/reports/receipts/patient', { who })).text();
  const choice = await find('asha');
  expect([...choice.matchAll(/name="patient" value="([^"]*)"/g)].map(([, id]) => id).toSorted()).toEqual([
    'p-1',
    'p-2',
  ]);
  const found = await find('543210');
  expect(found).toContain('Only of Asha Rao, +919876543210.');
  expect(found).toContain('2 rows.');
  expect(found).toContain('₹204.00');
  expect(found).not.toContain('Menon');
  expect(found.match(/(href|action)="[^"]*p-1/g)).toBeNull();
  const entries = await database.rows(
    'select action, filter, patients from access_log order by entry desc limit 2',
  );
  expect(entries).toMatchObject([
    { action: 'reveal', filter: { report: 'receipts', patient: 'one' }, patients: [expect.anything()] },
    { action: 'search', filter: { report: 'receipts' }, patients: [expect.anything()] },
  ]);
  const csv = await visitor.post('/reports/receipts/csv', { patient: 'p-2', part: '' });
  expect(csv.headers.get('content-disposition')).toContain('receipts_one-patient_personal');
  expect(parseCsv(await csv.text())).toHaveLength(2);
  expect((await visitor.get('/reports/receipts?patient=p-1')).status).toBe(400);
  expect(await visitor.read('/reports/receipts')).toContain('/console/reports/receipts/patient');
  expect(await visitor.read('/reports/doctors_daily')).not.toContain(
    '/console/reports/doctors_daily/patient',
  );
  const operator = await visitAs(service.url, 'operator');
  expect(await operator.read('/reports/receipts')).not.toContain('/reports/receipts/patient');
});

it('a column that is listed nowhere is personal, and so is every column of such a view', async () => {
  const create = (view: string, columns: string) =>
    database.pool.query(`create or replace view reporting.${view} as select ${columns}`);
  const personal = async (view: string) =>
    (await readColumns(database.db, { view })).filter((column) => column.personal).map(({ name }) => name);
  expect(await personal('admission_clearances')).toEqual(['patient_id', 'completed_by']);
  expect(await personal('receipts_daily')).toEqual([]);
  await create('invented', `1 as number, now() as at, ''::text as event`);
  expect(await personal('invented')).toEqual(['number', 'at', 'event']);
  await database.pool.query('drop view reporting.invented');
});

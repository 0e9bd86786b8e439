import { readReportForm } from '../../../src/console/reports/form.ts';
import { reports } from '../../../src/reports/reports.ts';
import { receiptCallback, samples } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { parseCsv } from './read-files.ts';
import { now } from './times.ts';

const { database, visitor } = useConsole();
beforeEach(() => clear(database));

it('the days of a range are in the reports’ time zone, both ends included', async () => {
  const at = (moment: string) => Date.parse(moment);
  await apply(database, [
    receiptCallback({ data: { receipt_id: 1, created_at: at('2026-03-01T18:29:59Z') } }), // 1 March in India
    receiptCallback({ data: { receipt_id: 2, created_at: at('2026-03-01T18:30:00Z') } }), // 2 March
    receiptCallback({ data: { receipt_id: 3, created_at: at('2026-03-02T18:30:00Z') } }), // 3 March
  ]);
  const csv = await visitor.read('/reports/receipts/csv?from=2026-03-01&to=2026-03-02');
  const [head, ...rows] = parseCsv(csv);
  expect(rows.map((row) => row[head!.indexOf('receipt_id')]).sort()).toEqual(['1', '2']);
  expect(csv).toContain('2026-03-02 00:00:00+05:30');
});

it.each(['?from=yesterday', '?to=2026-02-30'])('an invalid range is rejected: %s', async (query) => {
  for (const path of [`/reports/receipts${query}`, `/reports/receipts/csv${query}`]) {
    expect((await visitor.get(path)).status).toBe(400);
  }
});

it('the default days of open admissions are a year, those of other reports a month', async () => {
  await apply(database, [
    samples.admission({ data: { admission_date: now() - 100 * 86_400 } }),
    samples.appointment({ data: { created_at: now() - 100 * 86_400 } }),
  ]);
  const rowsOf = async (view: string) => parseCsv(await visitor.read(`/reports/${view}/csv`)).slice(1);
  expect(await rowsOf('open_admissions')).toHaveLength(1);
  expect(await rowsOf('admissions')).toEqual([]);
  expect(await rowsOf('appointments')).toEqual([]);
});

it('only the schedule has days to come: tomorrow is one of its ranges', async () => {
  const at = (days: number) => now() + days * 86_400;
  await apply(
    database,
    [0, 1, 2, 8].map((days) =>
      samples.appointment({
        data: {
          appointment_id: `in-${days}`,
          start_time: at(days),
          created_at: at(0),
          prev_aids: [],
          next_aid: '',
        },
      }),
    ),
  );
  const idsOf = async (query: string) =>
    parseCsv(await visitor.read(`/reports/schedule/csv${query}`)).flatMap((row) =>
      row.filter((value) => value.startsWith('in-')),
    );
  expect(await idsOf('?range=tomorrow')).toEqual(['in-1']);
  expect(await idsOf('')).toEqual(['in-0', 'in-1', 'in-2']);
  expect(await visitor.read('/reports/schedule')).toContain('range=tomorrow');
  expect(await visitor.read('/reports/appointments')).not.toContain('range=tomorrow');
});

it.each([
  ['yesterday', '2026-01-01', '2025-12-31', '2025-12-31'],
  ['last_month', '2026-03-31', '2026-02-01', '2026-02-28'],
  ['last_month', '2026-01-15', '2025-12-01', '2025-12-31'],
  ['this_month', '2026-03-31', '2026-03-01', '2026-03-31'],
  ['this_week', '2026-03-01', '2026-02-23', '2026-03-01'],
  ['last_week', '2026-03-02', '2026-02-23', '2026-03-01'],
  ['this_year', '2026-03-02', '2026-01-01', '2026-03-02'],
  ['last_30_days', '2026-03-02', '2026-02-01', '2026-03-02'],
  ['tomorrow', '2026-02-28', '2026-03-01', '2026-03-01'],
  ['next_7_days', '2026-12-28', '2026-12-28', '2027-01-03'],
])('%s on %s is from %s to %s', (range, day, from, to) => {
  // In India it is the next day already.
  jest.spyOn(Date, 'now').mockReturnValue(Date.parse(`${day}T00:00Z`) - 3 * 3_600_000);
  const { filter } = readReportForm(
    { range },
    { report: reports[0]!, columns: [], shown: [], timezone: 'Asia/Kolkata', revealed: false },
  );
  jest.restoreAllMocks();
  expect(filter).toMatchObject({ from, to });
});

import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { formatNames, formats } from '../../../src/reports/files/formats.ts';
import { type XlsxColumn, xlsxWriter } from '../../../src/reports/files/xlsx.ts';
import { receiptCallback } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { parseCsv, readXlsx } from './read-files.ts';

const { database, visitor } = useConsole();
beforeEach(() => clear(database));

describe('downloads', () => {
  const business_id = '123456789012345678';
  const formula = '=HYPERLINK("https://elsewhere.invalid")';
  beforeEach(async () => {
    await database.pool.query(
      `insert into aliases (kind, id, alias, updated_by) values ('business', $1, '=Anna Nagar', 'x')
       on conflict (kind, id) do nothing`,
      [business_id],
    );
    const created_at = Date.parse('2026-03-01T18:30:05.250Z');
    await apply(database, [
      receiptCallback({
        business_id,
        event_time: created_at / 1000,
        data: {
          receipt_id: 7,
          created_at,
          receipt_number: '2026-11',
          mobile: '+91 98765 43210',
          name: formula,
          net_amount: 1234567.5,
          remarks: '',
          clinic_id: '7e5',
          flavour: null,
        },
      }),
    ]);
  });
  const query = '?from=2026-03-01&to=2026-03-02';
  const fields = { from: '2026-03-01', to: '2026-03-02' };

  it('for machines have values as they are, in the columns of the view first, then the aliases of each kind that has some', async () => {
    const viewColumns = (
      await database.rows(
        `select attname as name from pg_attribute
       where attrelid = 'reporting.receipts'::regclass and attnum > 0 order by attnum`,
      )
    ).map(({ name }) => name);
    const download = async () => {
      const [head, row] = parseCsv(await (await visitor.post('/reports/receipts/csv', fields)).text());
      const found = Object.fromEntries(head!.map((name, index) => [name, row![index]]));
      expect(found).toMatchObject({ mobile: '+91 98765 43210', name: formula, clinic_id: '7e5' });
      return { head, alias: row![viewColumns.length] };
    };
    expect(await download()).toEqual({ head: [...viewColumns, 'business_alias'], alias: '=Anna Nagar' });
    await database.rows('truncate aliases');
    expect(await download()).toEqual({ head: viewColumns, alias: undefined });
  });

  it('an Excel file keeps digits of ids and phones, the time of the reports, and no formula', async () => {
    const response = await visitor.post('/reports/receipts/xlsx', fields);
    const { rows, sheet, about } = await readXlsx(response);
    const [head, row, totals] = rows;
    const found = Object.fromEntries(head!.map((name, index) => [name!.value, row![index]]));
    const days = (moment: string) => Date.parse(moment) / 86_400_000 + 25_569;
    const rupees = '[>=10000000]"₹"##\\,##\\,##\\,##0.00;[>=100000]"₹"##\\,##\\,##0.00;"₹"##,##0.00';
    expect(found).toMatchObject({
      'Business id': { value: business_id, format: '@' },
      Business: { value: '=Anna Nagar' },
      'Clinic id': { value: '7e5', format: '@' },
      'Receipt id': { value: '7', format: '@' },
      'Receipt number': { value: '2026-11' },
      Phone: { value: '+91 98765 43210' },
      Patient: { value: formula, format: '@' },
      'To pay': { value: 1234567.5, format: rupees },
      Day: { value: days('2026-03-02'), format: 'd mmm yyyy' },
      Issued: { format: 'd mmm yyyy, hh:mm:ss' },
      Remarks: { value: '' },
    });
    expect(found.Issued!.value).toBeCloseTo(days('2026-03-02T00:00:05.250Z'), 8);
    expect(found.Flavour).toBeUndefined();
    const ofTotals = Object.fromEntries(head!.map((name, index) => [name!.value, totals![index]?.value]));
    expect(ofTotals).toMatchObject({ 'To pay': 1234567.5, 'Clinic id': undefined });
    expect(sheet.replace(/<f>SUBTOTAL\(109,[A-Z]+2:[A-Z]+2\)<\/f>/g, '')).not.toContain('<f>');
    expect(Object.fromEntries(about)).toMatchObject({
      Report: 'Receipts',
      Days: '1 Mar 2026 to 2 Mar 2026',
      Rows: '1',
      'Personal data': 'included',
      Due: expect.stringContaining('Amount still to pay (amount_due)'),
    });
    expect(sheet).toMatch(/<pane ySplit="1" [^>]*state="frozen"/);
    const width = head!.length;
    const letters = String.fromCharCode(64 + Math.floor((width - 1) / 26), 65 + ((width - 1) % 26));
    expect([width > 26, sheet]).toEqual([
      true,
      expect.stringContaining(`<autoFilter ref="A1:${letters}2"/>`),
    ]);
  });

  it.each(formatNames)('a file with personal data has another name than one without: %s', async (format) => {
    const path = `/reports/receipts/${format}`;
    const names = [await visitor.get(path + query), await visitor.post(path, fields)].map(
      async (response) => {
        await response.arrayBuffer();
        return response.headers.get('content-disposition');
      },
    );
    const { ending } = formats[format];
    expect(await Promise.all(names)).toEqual([
      `attachment; filename="receipts_2026-03-01_2026-03-02.${ending}"`,
      `attachment; filename="receipts_personal_2026-03-01_2026-03-02.${ending}"`,
    ]);
  });

  it.each(formatNames)(
    'each is in the access log with its format, its filter and its rows: %s',
    async (format) => {
      for (const personal of [false, true]) {
        const path = `/reports/receipts/${format}`;
        const response = await (personal ? visitor.post(path, fields) : visitor.get(path + query));
        expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
        const [entry] = await database.rows(
          'select action, filter, rows, cardinality(patients) as patients from access_log order by entry desc limit 1',
        );
        const filter = { report: 'receipts', ...fields, format, personal };
        expect(entry).toMatchObject({ action: 'download', filter, rows: '1', patients: personal ? 1 : 0 });
      }
    },
  );

  it('an Excel file of too many rows is refused before it is logged', async () => {
    jest.replaceProperty(formats.xlsx, 'mostRows', 0.5);
    const entries = () => database.rows('select count(*) from access_log');
    const before = await entries();
    const response = await visitor.get(`/reports/receipts/xlsx${query}`);
    jest.restoreAllMocks();
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('Download CSV')]);
    expect(await entries()).toEqual(before);
  });

  it('an Excel file is read back as it was written, whatever the values', async () => {
    const unit = fc.constantFrom('a', '<', '&', '"', '\n', ' ', '=', 'अ', '😀', '1', '-', '_');
    const value = fc.option(fc.string({ unit }), { nil: null });
    const columns: XlsxColumn[] = [
      { name: 'one', title: 'One', kind: 'text' },
      { name: 'two', title: 'Two', kind: 'amount' },
    ];
    const about = [['Rows', '"all" & <some>']] as const;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ one: value, two: value })), async (rows) => {
        const writer = xlsxWriter({ title: "A/B's <report>", columns, about, currency: 'INR' });
        const file = new Response(await buffer(Readable.from(rows).pipe(writer)));
        const [, ...read] = (await readXlsx(file)).rows;
        const isNumber = (text: string) => /^-?\d+$/.test(text);
        const expected = (cell: string | null) => cell ?? undefined;
        expect(read.map(([one]) => one?.value)).toEqual(rows.map(({ one }) => expected(one)));
        expect(read.map((row) => row[1]?.value)).toEqual(
          rows.map(({ two }) =>
            two !== null && isNumber(two) && two.length <= 15 ? Number(two) : expected(two),
          ),
        );
      }),
      { numRuns: 50 },
    );
  });
});

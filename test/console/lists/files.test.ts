import { text } from 'node:stream/consumers';
import { strFromU8, unzipSync } from 'fflate';
import { csvWriter, parseCsv } from '../../../src/common/csv.ts';
import { apply } from '../../db/apply.ts';
import { receiptCallback } from '../../support/callbacks.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { openApp, visitAs } from '../support.ts';

const database = useReceiverDatabase();
const now = Math.floor(Date.now() / 1000);
const receipt = (receipt_id: number, data: object) =>
  receiptCallback({ event_time: now, data: { receipt_id, created_at: now, ...data } });

it('a report is the same in CSV and in Excel, where amounts are numbers, and texts are texts', async () => {
  await apply(database, [
    receipt(1, { name: '=1+1', net_amount: 450.5 }),
    receipt(2, { name: 'आशा <"&">', net_amount: -12 }),
  ]);
  const desk = await visitAs(openApp(database).app, database, ['desk']);
  const csv = await desk.get('/receipts/csv').expect(200);
  const xlsx = await desk.get('/receipts/xlsx').responseType('blob').expect(200);
  const [head, ...lines] = parseCsv(csv.text).map(({ cells }) => cells);
  const rows = readXlsx(xlsx.body);
  const [name, amount] = [head!.indexOf('name'), head!.indexOf('net_amount')];
  expect(lines.map((line) => [line[name], line[amount]])).toEqual([
    ['=1+1', '450.5'],
    ['आशा <"&">', '-12'],
  ]);
  expect(rows.slice(1).map((row) => [row[name], row[amount]])).toEqual([
    ['=1+1', 450.5],
    ['आशा <"&">', -12],
    [undefined, 438.5],
  ]);
});

it('an amount of many digits is in the total of an Excel file, and one of a failed receipt is in none', async () => {
  await database.rows('truncate receiver.inbox, receipts');
  await apply(database, [
    receipt(5, { net_amount: '100.123456789012345678901234567890' }),
    receipt(6, { net_amount: 0.5 }),
    receipt(7, { net_amount: 70, receipt_status: 'FAILED' }),
  ]);
  const viewer = await visitAs(openApp(database).app, database, ['viewer']);
  const { body } = await viewer.get('/receipts/xlsx').responseType('blob').expect(200);
  const rows = readXlsx(body);
  const amount = rows[0]!.indexOf('Billed');
  const sorted = rows.slice(1, -1).map((row) => row[amount]);
  expect(new Set(sorted)).toEqual(new Set([100.12345678901235, 0.5]));
  expect(rows.at(-1)![amount]).toBe(100.6235);
  const failed = await viewer.get('/failed/xlsx').responseType('blob').expect(200);
  expect(readXlsx(failed.body).map((row) => row[amount])).toEqual(['Billed', 70]);
});

it('a value is cut to what a line of a page, or a cell of Excel, takes, and a file has no more rows than are allowed', async () => {
  await apply(database, [receipt(3, { name: 'n'.repeat(40_000) })]);
  const desk = await visitAs(openApp(database).app, database, ['desk']);
  const { text: shown } = await desk.get('/receipts').expect(200);
  expect(shown).toContain(`${'n'.repeat(249)}…`);
  const { text: file } = await desk.get('/receipts/csv').expect(200);
  expect(file).toContain(`${'n'.repeat(32_766)}…`);
  expect(shown).not.toContain('n'.repeat(250));
  expect(file).not.toContain('n'.repeat(32_767));
  const downloads = { stalledMs: 30_000, totalMs: 60_000, maxRows: 1 };
  const limited = await visitAs(openApp(database, { downloads }).app, database, ['desk']);
  for (const format of ['csv', 'xlsx'])
    expect((await limited.get(`/receipts/${format}`).expect(400)).text).toContain('takes 1 rows');
});

const formulas =
  '=1+1|+91 1234|-2+3|@sum(a1)|\t=1|\r=1|\n=1|=HYPERLINK("https://elsewhere.invalid")|＝1'.split('|');

it('CSV marks formulas as text, but no numbers, and quotes what some spreadsheet would split', async () => {
  const numbers = ['-12.50', '0', '+919876543210', '12345678901234567890.01', '-0'];
  const writer = csvWriter(['value']);
  for (const value of [...formulas, 'a;=1+1', 'a\t=1', ...numbers]) writer.write({ value });
  const written = await text(writer.end());
  for (const formula of formulas) expect(written).toContain(`'${formula.replaceAll('"', '""')}`);
  for (const split of ['"a;=1+1"', '"a\t=1"']) expect(written).toContain(split);
  expect(written).toContain(numbers.join('\r\n'));
  expect(await text(csvWriter(['one', 'two']).end())).toBe('one,two\r\n');
});

/** The cells of an Excel file's sheet, empty ones undefined. */
function readXlsx(file: Uint8Array) {
  const files = unzipSync(file);
  const plain = (xml: string) =>
    xml
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&quot;/g, '"')
      .replace(/&amp;/g, '&');
  const readCell = (cell: string) => {
    const text = /<t [^>]*>([\s\S]*)<\/t>/.exec(cell)?.[1];
    return text === undefined ? Number(/<v>(.*)<\/v>/.exec(cell)![1]) : plain(text);
  };
  const sheet = strFromU8(files['xl/worksheets/sheet1.xml']!);
  return [...sheet.matchAll(/<row>([\s\S]*?)<\/row>/g)].map(([, row]) =>
    [...row!.matchAll(/<c\/>|<c(?: s="\d+")?[^/>]*>[\s\S]*?<\/c>/g)].map(([cell]) =>
      cell === '<c/>' ? undefined : readCell(cell),
    ),
  );
}

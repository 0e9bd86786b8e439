import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { loadFamilies } from '../../src/app/load-families.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { InvalidConfiguration } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { createMerge } from '../../src/receiver/worker/merge.ts';
import { openIntake, paths } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';
import { tempFolder } from '../support/temp-folder.ts';

const database = useReceiverDatabase();
const root = join(import.meta.dirname, '../..');
let folder: string;
beforeEach(() => {
  folder = tempFolder();
});

const write = (files: Record<string, string>) =>
  Promise.all(Object.entries(files).map(([file, text]) => writeFile(join(folder, file), text)));
const invoice = (from: string) => `
  import { amount, defineFamily, idOf, integer, text } from '${from}';
  export default defineFamily({
    name: 'invoice',
    events: { 'invoice.created': 'created', 'invoice.deleted': 'deleted' },
    path: { variable: 'INVOICES_PATH', default: ['/invoices'] },
    table: 'invoices',
    key: 'number',
    fields: { number: integer, total: amount, aid: idOf('appointment'), memo: text },
  });`;

it('the callbacks of a family of the folder are received at its path and become rows of its table', async () => {
  await write({
    'invoice.ts': invoice(join(root, 'src/callbacks/authoring.ts')),
    'notes.txt': '',
    'x.d.ts': '?',
  });
  const list = await loadFamilies(folder);
  await migrate(database.db, list, createLog('silent'));
  const config = testConfig({ paths: { ...paths, invoice: ['/invoices'] } });
  const intake = openIntake(database, { families: list, config });
  const body = {
    event: 'invoice.created',
    event_time: Math.floor(Date.now() / 1000),
    business_id: 'b',
    data: { number: '07', total: '5.50', aid: 'v' },
  };
  await intake.receive(Buffer.from(JSON.stringify(body)), { family: 'invoice', path: '/invoices' });
  await createMerge({
    pool: database.pool,
    families: list,
    log: createLog('silent'),
  })('invoice');
  expect(await database.rows('select number, total, aid from invoices')).toEqual([
    { number: '7', total: '5.50', aid: 'v' },
  ]);
});

it('without a folder there are the documented families', async () => {
  expect(await loadFamilies(undefined)).toBe(families);
});

it('Node.js imports modules that are written with the package, or without', async () => {
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules/webhook-receiver'));
  const plain = `{ name: 'bill', events: { 'bill.created': 'created' }, path: { default: ['/bills'] }, table: 'bills', fields: { total: { kind: 'amount' } } }`;
  await write({
    'a #1 invoice.mjs': invoice('webhook-receiver/family'),
    'bill.js': `export default ${plain}`,
  });
  const program = `
    import { loadFamilies } from ${JSON.stringify(pathToFileURL(join(root, 'dist/app/load-families.js')))};
    console.log((await loadFamilies(process.argv[1])).slice(-2).map(({ name }) => name).join());`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    program,
    folder,
  ]);
  expect(stdout.trim()).toBe('invoice,bill');
});

const of = (changes: string) =>
  `export default { name: 'f', events: { 'f.x': 'created' }, path: { default: ['/f'] }, table: 'fs', fields: { a: { kind: 'text' }, t: { kind: 'time' } }, ...${changes} }`;

it('every fault is named at once, with its file and what to do', async () => {
  const faults: [module: string, ...problems: RegExp[]][] = [
    ['export const family = {}', /export default defineFamily/],
    ['export default {', /cannot be imported/],
    ['export default 5', /object/],
    [
      of(
        `{ name: 'receipt', table: 'receipts', events: { 'receipt.created': 'created' }, path: { default: ['/registered_url_for_receipt_events'] } }`,
      ),
      /name receipt is already that of the receiver: choose/,
      /table receipts is/,
      /event receipt.created is/,
      /path \/registered_url_for_receipt_events is/,
    ],
    [of(`{ name: 'ok', table: 'ok', events: { 'ok.x': 'created' }, path: { default: ['/ok'] } }`)],
    [
      of(
        `{ name: 'ok', table: 't6', events: { e6: 'created' }, path: { default: ['/6'], variable: 'RECEIPTS_PATH' } }`,
      ),
      /name ok is already that of 05.ts/,
      /RECEIPTS_PATH is/,
    ],
    [of(`{ table: 'deliveries' }`), /table is a name of the receiver/],
    [of(`{ table: 'a; drop' }`), /table must be small letters/],
    [of(`{ name: 'Ünvoice' }`), /name must be small letters/],
    [of(`{ fields: { event_time: { kind: 'time' } } }`), /event_time is a column of every family/],
    [of(`{ fields: { constructor: { kind: 'text' } } }`), /constructor .*a name of JavaScript/],
    [of(`{ fields: { a: { kind: 'date' } } }`), /fields.a.kind .*"amount"/],
    [of(`{ events: {} }`), /events must list an event/],
    [of(`{ events: { 'f.x': 'reconciled' } }`), /events.f.x .*"deleted"/],
    [of(`{ path: { default: ['f'] } }`), /path.default.0 must start with \//],
    [of(`{ path: { default: ['/console'] } }`), /path.default.0 is a path that the receiver uses/],
    [of(`{ key: 'b' }`), /key must be a field of the kind text or integer, which b is not/],
    [of(`{ key: 't' }`), /key must be a field .*, which t is not/],
    [of(`{ changeTime: 'a' }`), /changeTime must be a field of the kind time/],
    [of(`{ printedNumber: 'b' }`), /printedNumber must be a field .*, which b is not/],
    [of(`{ people: { names: ['b.c'], phones: [] } }`), /people must be a field .*, which b is not/],
  ];
  const file = (index: number) => `${String(index + 1).padStart(2, '0')}.ts`;
  await write(Object.fromEntries(faults.map(([text], index) => [file(index), text])));
  const error = await loadFamilies(folder).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(InvalidConfiguration);
  const expected = faults.flatMap(([, ...problems], index) =>
    problems.map((problem) =>
      expect.stringMatching(new RegExp(`^FAMILIES ${file(index)}: .*${problem.source}`)),
    ),
  );
  expect(error.problems).toEqual(expect.arrayContaining(expected));
  expect(error.problems).toHaveLength(expected.length);
});

it('a field that refers to no family is a fault', async () => {
  await write({ 'a.ts': of(`{ fields: { a: { kind: 'text', refersTo: 'nothing' } } }`) });
  await expect(loadFamilies(folder)).rejects.toMatchObject({
    problems: ['FAMILIES f: fields.a.refersTo is nothing, which is no family'],
  });
});

it('a folder that is not there, or has no module, is a fault', async () => {
  await expect(loadFamilies(folder)).rejects.toMatchObject({ problems: [expect.stringContaining('*.js')] });
  await expect(loadFamilies(join(folder, 'no'))).rejects.toMatchObject({
    problems: [expect.stringContaining('ENOENT')],
  });
});

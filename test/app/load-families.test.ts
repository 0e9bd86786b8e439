import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { loadFamilies } from '../../src/app/load-families.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { InvalidConfiguration } from '../../src/common/config/config.ts';
import { tempFolder } from '../support/temp-folder.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
beforeEach(() => {
  folder = tempFolder();
});

const write = (files: Record<string, string>) =>
  Promise.all(Object.entries(files).map(([file, text]) => writeFile(join(folder, file), text)));
const invoice = `
  import { amount, defineFamily, idOf, integer, text } from 'webhook-receiver/family';
  export default defineFamily({
    name: 'invoice',
    events: { 'invoice.created': 'created', 'invoice.deleted': 'deleted' },
    path: { variable: 'INVOICES_PATH', default: ['/invoices'] },
    table: 'invoices',
    key: 'number',
    fields: { number: integer, total: amount, aid: idOf('appointment'), memo: text },
  });`;

it('without a folder there are the documented families', async () => {
  expect(await loadFamilies(undefined)).toBe(families);
});

it('Node.js imports modules that are written with the package, or without, and no other files', async () => {
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules/webhook-receiver'));
  const plain = `{ name: 'bill', events: { 'bill.created': 'created' }, path: { default: ['/bills'] }, table: 'bills', fields: { total: { kind: 'amount' } } }`;
  await write({
    'a #1 invoice.mjs': invoice,
    'bill.js': `export default ${plain}`,
    'notes.txt': '',
    'x.d.ts': '?',
  });
  const program = `
    import { loadFamilies } from ${JSON.stringify(pathToFileURL(join(root, 'dist/app/load-families.js')))};
    console.log((await loadFamilies(process.argv[1])).slice(-2).map(({ name }) => name).join());`;
  const args = ['--input-type=module', '-e', program, folder];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout.trim()).toBe('invoice,bill');
});

const of = (changes: string) =>
  `export default { name: 'f', events: { 'f.x': 'created' }, path: { default: ['/f'] }, table: 'fs', fields: { a: { kind: 'text' }, t: { kind: 'time' } }, ...${changes} }`;

async function problemsOf(path: string) {
  const error = await loadFamilies(path).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(InvalidConfiguration);
  return error.problems;
}

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
    [of(`{ feilds: {} }`), /feilds/],
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
  const problems = await problemsOf(folder);
  const expected = faults.flatMap(([, ...problems], index) =>
    problems.map((problem) =>
      expect.stringMatching(new RegExp(`^FAMILIES ${file(index)}: .*${problem.source}`)),
    ),
  );
  expect(problems).toEqual(expect.arrayContaining(expected));
  expect(problems).toHaveLength(expected.length);
});

it('a field that refers to no family is a fault', async () => {
  await write({ 'a.ts': of(`{ fields: { a: { kind: 'text', refersTo: 'nothing' } } }`) });
  expect(await problemsOf(folder)).toEqual(['FAMILIES f: fields.a.refersTo is nothing, which is no family']);
});

it('a folder that is not there, or has no module, is a fault', async () => {
  expect(await problemsOf(folder)).toEqual([expect.stringContaining('*.js')]);
  expect(await problemsOf(join(folder, 'no'))).toEqual([expect.stringContaining('ENOENT')]);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

let database: TestDatabase;
const folder = mkdtempSync(join(tmpdir(), 'receiver-aliases-'));
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.close();
});

async function run(...args: string[]): Promise<[output: string, code: unknown]> {
  const { code, output } = await runCommand(['aliases', ...args], { DATABASE_URL: database.url });
  return [output, code];
}

function importCsv(content: string | Buffer) {
  const file = join(folder, 'aliases.csv');
  writeFileSync(file, content);
  return run('import', file);
}

const stored = () => database.rows('select kind, id, alias from reporting.aliases order by kind, id');

it('imports names, and deletes those that are empty; the access log has who did it', async () => {
  const first =
    '\uFEFFkind,id,alias\r\nbusiness,b-1,"North, main"\r\nclinic,c-1,=Lake\r\ndoctor,161467756044203,Dr आशा\r\n';
  expect(await importCsv(first)).toEqual(['3 set, 0 deleted, 0 unchanged\n', 0]);
  expect(
    await importCsv(
      'id,alias,kind\nb-1,North,business\nc-1,,clinic\nc-9,,clinic\n161467756044203,Dr आशा,doctor',
    ),
  ).toEqual(['1 set, 1 deleted, 2 unchanged\n', 0]);
  expect(await stored()).toEqual([
    { kind: 'business', id: 'b-1', alias: 'North' },
    { kind: 'doctor', id: '161467756044203', alias: 'Dr आशा' },
  ]);
  expect(await database.rows('select updated_by from aliases group by 1')).toEqual([
    { updated_by: expect.stringMatching(/^command:./) },
  ]);
  expect(await database.rows(`select action, rows from access_log`)).toEqual([
    { action: 'aliases', rows: '3' },
    { action: 'aliases', rows: '4' },
  ]);
});

it('one wrong line: each is named, and nothing is imported', async () => {
  const before = await stored();
  const wrong = [
    'kind,id,alias',
    'business,b-2,South',
    'clinics,c-2,Hill',
    'clinic,,Hill',
    'doctor,1.61E+14,Dr Rao',
    'business,b-2,East',
    `clinic,c-3,${'x'.repeat(201)}`,
    'clinic,c-4,"two\nlines"',
  ];
  const [output, code] = await importCsv(wrong.join('\n'));
  expect([output.trimEnd().split('\n'), code]).toEqual([
    [
      'receiver: Nothing was imported:',
      'line 3: the kind must be business, clinic, doctor',
      'line 4: the id is empty',
      'line 5: a spreadsheet has rounded the id: format the column as text',
      'line 6: the id is also on line 2',
      'line 7: the alias has more than 200 characters',
      'line 8: the id or the alias has a control character',
    ],
    1,
  ]);
  expect(await importCsv('business,b-2,South')).toEqual([
    'receiver: Nothing was imported:\nline 1: the header must be kind,id,alias\n',
    1,
  ]);
  expect(await importCsv('kind,id,alias,Alias\nbusiness,b-2,South,North')).toEqual([
    'receiver: Nothing was imported:\nline 1: the header must be kind,id,alias\n',
    1,
  ]);
  expect(await importCsv(Buffer.from('kind,id,alias\nclinic,c-5,Caf\xe9', 'latin1'))).toEqual([
    expect.stringContaining('is not UTF-8. Save it as “CSV UTF-8”'),
    1,
  ]);
  expect(await stored()).toEqual(before);
});

it('what is exported is imported again without a change', async () => {
  await database.rows(
    `insert into aliases (kind, id, alias, updated_by) values ('clinic', 'c-7', '=1+1', 'test')`,
  );
  const [csv, code] = await run('export');
  expect([csv.split('\r\n').slice(0, 2), code]).toEqual([['kind,id,alias', 'business,b-1,North'], 0]);
  expect(await importCsv(csv)).toEqual(['0 set, 0 deleted, 3 unchanged\n', 0]);
});

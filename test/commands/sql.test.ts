import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { printable } from '../../src/common/printable.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

const database = useDatabase();
beforeAll(async () => {
  await database.pool.query('create table reminders (note text); create sequence numbers');
});
beforeEach(() => database.pool.query(`truncate reminders; insert into reminders values ('kept')`));

const run = (args: string[], env: Record<string, string> = { DATABASE_URL: database.url }) =>
  runCommand(args, env);

const reminders = async () => (await database.rows('select note from reminders')).map(({ note }) => note);

it.each([
  'delete from reminders',
  'truncate reminders',
  'drop table reminders',
  'with deleted as (delete from reminders returning *) select * from deleted',
  `select nextval('numbers')`,
  `select setval('numbers', 9)`,
  `do $$ begin delete from reminders; end $$`,
  `do $$ begin set transaction read write; delete from reminders; end $$`,
  `do $$ begin commit; delete from reminders; end $$`,
  `select set_config('transaction_read_only', 'off', false), (select 1 from reminders for update)`,
  'set transaction read write',
  'commit; delete from reminders',
  'rollback; begin; delete from reminders; commit',
  'select 1; delete from reminders',
])('sql without --write changes nothing: %s', async (statement) => {
  const { code } = await run(['sql', statement]);
  expect([code, await reminders()]).toEqual([1, ['kept']]);
  expect(await database.rows('select is_called from numbers')).toEqual([{ is_called: false }]);
});

it('sql --write changes data, one statement at a time', async () => {
  expect((await run(['sql', '--write', `insert into reminders values ('new')`])).code).toBe(0);
  expect(await reminders()).toEqual(['kept', 'new']);
  expect((await run(['sql', '--write', 'delete from reminders; select 1'])).code).toBe(1);
  expect(await reminders()).toEqual(['kept', 'new']);
});

it('columns of one name are all printed, in a table and as JSON', async () => {
  const statement = 'select 41 as a, 42 as a, 43 as a_2, null as a, 44 as __proto__, 45 as __proto__';
  const table = (await run(['sql', statement])).output.split('\n').map((line) => line.match(/\w+/g));
  expect(table).toContainEqual(['a', 'a', 'a_2', 'a', '__proto__', '__proto__']);
  expect(table).toContainEqual(['41', '42', '43', '44', '45']);
  const { output } = await run(['sql', '--json', statement]);
  expect(output).toBe('{"a":"41","a_3":"42","a_2":"43","a_4":null,"__proto__":"44","__proto___2":"45"}\n');
  const counts = await run([
    'sql',
    'select (select count(*) from reminders), count(*) from generate_series(1, 7)',
  ]);
  expect(counts.output).toMatch(/│ 1 +│ 7 +│/);
});

/** Whether a text contains a control character other than a new line, or a bidirectional control. */
const controlsTerminal = (text: string) =>
  Array.from(text, (character) => character.codePointAt(0)!).some(
    (code) =>
      (code < 32 && code !== 10) ||
      (code >= 127 && code < 160) ||
      [0x61c, 0x200e, 0x200f].includes(code) ||
      (code >= 0x2028 && code <= 0x202e) ||
      (code >= 0x2066 && code <= 0x2069),
  );

it('printed text contains nothing that controls a terminal, and is otherwise unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const escaped = printable(text);
      expect(controlsTerminal(escaped)).toBe(false);
      expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text);
    }),
  );
  expect(printable('आशा \u200d राव\n')).toBe('आशा \u200d राव\n');
});

// Clears the screen, sets the window's title, reverses the direction of text.
const malicious = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u007f\u202e';
const escaped = '\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\\u007f\\u202e';

it('no command prints control characters of a callback to the terminal', async () => {
  await database.pool.query('insert into reminders values ($1)', [`${malicious}\nnext`]);
  await database.pool.query(
    `insert into quarantine (id, path, reason, body) values (gen_random_uuid(), $1, 'invalid', $2)`,
    [malicious, Buffer.from(JSON.stringify(receiptCallback()).replace('receipt.created', malicious))],
  );
  const outputs = await Promise.all([
    run(['sql', 'select note from reminders']),
    run(['sql', '--json', 'select note from reminders']),
    run(['sql', `select note::int from reminders where note <> 'kept'`]),
    run(['sql', `select 1 as "${malicious}"`]),
    run(['quarantine', 'list']),
    run(['quarantine', 'show']),
  ]);
  for (const { output } of outputs) {
    expect(output).toContain(escaped);
    expect(controlsTerminal(output)).toBe(false);
  }
  expect(outputs[0]!.output).toMatch(/owned.*\n.*next/);
  expect(JSON.parse(outputs[1]!.output.trim().split('\n').at(-1)!)).toEqual({ note: `${malicious}\nnext` });
  expect((await run(['quarantine', 'show', '--raw'])).output).toContain(malicious);
});

it.each([['sql', 'select 1'], ['replay'], ['quarantine', 'list'], ['quarantine', 'drop', '--all']])(
  '%s reports a missing database and creates none',
  async (...args) => {
    const folder = mkdtempSync(join(tmpdir(), 'receiver-nothing-'));
    const { code, output } = await run(args, { DATA_DIR: join(folder, 'data') });
    expect([code, readdirSync(folder)]).toEqual([1, []]);
    expect(output).toContain(`There is no database in ${join(folder, 'data')}`);
    expect(output).toContain('DATABASE_URL');
    rmSync(folder, { recursive: true });
  },
);

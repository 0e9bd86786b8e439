import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tempFolder } from './support/temp-folder.ts';

let folder: string;
beforeEach(() => {
  folder = tempFolder();
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"jest":{"transform":{}}}');
});

const error = (text: string) => `throw new Error(${JSON.stringify(text)});`;
const notInTime = error('NotInTime: not true within 120000 ms: () => false');
/** Does this in the first run alone. */
const once = (work: string) =>
  `if (!require('fs').existsSync('ran')) { require('fs').writeFileSync('ran', ''); ${work} }`;

/** Runs the test runner on these files, each with a test that does this. */
function runTests(files: Record<string, string>) {
  for (const [name, work] of Object.entries(files))
    writeFileSync(join(folder, `${name}.test.js`), `it('holds', () => { ${work} });`);
  const { status, stderr } = spawnSync(
    resolve('node_modules/.bin/tsx'),
    [resolve('test/run.ts'), 'tests', '--verbose'],
    { cwd: folder, encoding: 'utf8' },
  );
  return { status, stderr };
}

it('what was only slow gets a second chance, and is printed and noted where it takes it', () => {
  const { status, stderr } = runTests({ slow: once(notInTime), right: '' });
  expect([status, stderr]).toEqual([0, expect.stringContaining('FLAKY slow.test.js: holds')]);
  expect(JSON.parse(readFileSync(join(folder, 'flaky.jsonl'), 'utf8'))).toMatchObject({
    file: 'slow.test.js',
  });
});

it.each([
  ['fails otherwise in the first run', { wrong: once(error('expected 1, received 2')) }],
  ['is slow beside one that fails otherwise', { slow: once(notInTime), wrong: error('wrong') }],
  ['is slow twice', { slow: notInTime }],
  [
    'also fails outside of its test',
    {
      slow: `${once(`globalThis.slow = 1; ${notInTime}`)} }); afterAll(() => { if (globalThis.slow) ${error('left')}`,
    },
  ],
])('a file that %s fails the run', (_, files) => {
  expect(runTests(files as Record<string, string>).status).toBe(1);
  expect(existsSync(join(folder, 'flaky.jsonl'))).toBe(false);
});

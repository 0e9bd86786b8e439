import { diagnose } from '../../src/diagnostics/diagnose.ts';
import { createDatabase, createEmptyDatabase } from '../support/database.ts';
import { killProcesses, spawnReceiver } from '../support/process.ts';

afterEach(killProcesses);

const refused = 'postgresql://user:SECRET@127.0.0.1:1/name';

it('a database that cannot be reached is named by its variable, at start and in commands, without its password', async () => {
  const database = await createDatabase();
  const wrong = Object.assign(new URL(database.url), { username: 'nobody', password: 'SECRET' }).href;
  const cases: [args: string[], env: Record<string, string>, message: RegExp][] = [
    [['start'], { DATABASE_URL: refused }, /^receiver: DATABASE_URL: nothing listens at 127\.0\.0\.1:1\. /],
    [
      ['sql', 'select 1'],
      { DATABASE_URL: refused },
      /^receiver: DATABASE_URL: nothing listens at 127\.0\.0\.1:1\. /,
    ],
    [
      ['sql', 'select 1'],
      { DATABASE_URL: 'postgresql://user:SECRET@nowhere.invalid/name' },
      /^receiver: DATABASE_URL: the host name nowhere\.invalid does not resolve/,
    ],
    [['migrate'], { DATABASE_URL: wrong }, /^receiver: DATABASE_URL: .*nobody/],
    [
      ['migrate'],
      { DATABASE_URL: database.url, DIRECT_DATABASE_URL: refused },
      /^receiver: DIRECT_DATABASE_URL: nothing listens at 127\.0\.0\.1:1\. /,
    ],
  ];
  for (const [args, env, message] of cases) {
    const command = spawnReceiver(args, { PORT: '0', ...env });
    expect(await command.end()).toBe(1);
    const last = command.output().trim().split('\n').at(-1);
    expect(last).toMatch(message);
    expect(command.output()).not.toContain('SECRET');
  }
  await database.close();
});

it('doctor says of a database of a version before 1.0.0 what migrate says', async () => {
  const database = await createEmptyDatabase();
  await database.rows('create table deliveries (id uuid)');
  const findings = await diagnose({ DATABASE_URL: database.url });
  const said = 'a version before 1.0.0, or another program, made the table deliveries of this database; ';
  expect(findings).toContainEqual({
    status: 'fail',
    name: 'database',
    detail: expect.stringContaining(said),
  });
  expect(findings.map(({ detail }) => detail).join()).not.toContain('The first start creates');
  const command = spawnReceiver(['migrate'], { DATABASE_URL: database.url });
  expect(await command.end()).toBe(1);
  expect(command.output()).toContain(said);
  await database.close();
});

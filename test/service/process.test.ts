import { paths } from '../support/callbacks.ts';
import { createEmptyDatabase, useDatabase } from '../support/database.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { migrations } from '../support/schema.ts';
import { post } from '../support/service.ts';

const database = useDatabase();
afterEach(killProcesses);

it('SIGTERM stops every role, with exit code 0', async () => {
  const services = await Promise.all(
    ['all', 'receiver', 'worker'].map((ROLE) => spawnService({ ROLE, DATABASE_URL: database.url })),
  );
  expect(await Promise.all(services.map((service) => service.end('SIGTERM')))).toEqual([0, 0, 0]);
});

it('a bad configuration ends with exit code 78 and a line for each error', async () => {
  const command = spawnReceiver(['start'], { PORT: 'x', ROLE: 'y', DATABASE_URL: 'z' });
  expect(await command.end()).toBe(78);
  const variables = command
    .output()
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0]);
  expect(variables.toSorted()).toEqual(['DATABASE_URL', 'PORT', 'ROLE']);
});

it('prints the addresses for every event and of the three families of the interface, and a curl command that the receiver accepts', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  for (const name of ['receipt', 'consent_form', 'review_request', 'other'] as const)
    expect(service.output()).toContain(service.url + paths[name]);
  const [, address, body] = /curl -s (\S+) -H 'Content-Type: application\/json' -d '(.*)'/.exec(
    service.output(),
  )!;
  expect((await post(address!, body)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('sql prints rows, and migrate creates the tables of an empty database once', async () => {
  const fresh = await createEmptyDatabase();
  const run = async (...args: string[]) => {
    const command = spawnReceiver(args, { DATABASE_URL: fresh.url });
    expect(await command.end()).toBe(0);
    return command.output();
  };
  expect(await run('migrate')).toBe(`Ran ${[...migrations, 'reporting'].join(', ')}.\n`);
  expect(await run('migrate')).toBe('Nothing to do.\n');
  expect(await run('sql', 'select 12.50::numeric as amount, null as nothing')).toContain('12.50');
  await fresh.close();
});

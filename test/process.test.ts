import { paths, receiptCallback } from './support/callbacks.ts';
import { createEmptyDatabase, type TestDatabase } from './support/database.ts';
import { spawnReceiver, spawnService } from './support/process.ts';
import { post } from './support/service.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());

it.each(['SIGTERM', 'SIGINT'] as const)('%s stops every role, with exit code 0', async (signal) => {
  const services = await Promise.all(
    ['all', 'receiver', 'worker'].map((ROLE) => spawnService({ ROLE, DATABASE_URL: database.url })),
  );
  expect(services.map(({ url }) => url !== '')).toEqual([true, true, false]);
  expect(await Promise.all(services.map((service) => service.end(signal)))).toEqual([0, 0, 0]);
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

it('prints the three addresses and a curl line whose receipt becomes a row', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  for (const path of Object.values(paths)) expect(service.output()).toContain(service.url + path);
  const [, address, body] = /curl -s (\S+) -H 'Content-Type: application\/json' -d '(.*)'/.exec(
    service.output(),
  )!;
  expect((await post(address!, body)).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('sql prints rows, and migrate brings an empty database up to date once', async () => {
  const fresh = await createEmptyDatabase();
  const run = async (...args: string[]) => {
    const command = spawnReceiver(args, { DATABASE_URL: fresh.url });
    expect(await command.end()).toBe(0);
    return command.output();
  };
  expect(await run('migrate')).toContain('0001_deliveries');
  expect(await run('migrate')).toBe('Nothing to do.\n');
  expect(await run('sql', 'select 12.50::numeric as amount, null as nothing')).toContain('12.50');
  await fresh.close();
});

it.each(['start', 'migrate', 'sql', 'send', 'sandbox', 'search', 'register'])(
  '%s has a help page',
  async (command) => {
    const help = spawnReceiver([command, '--help'], {});
    expect(await help.end()).toBe(0);
    expect(help.output()).toContain(`Usage: receiver ${command}`);
  },
);

it('a sender that keeps its connection open does not hold up a stop', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  expect((await post(service.url + paths.receipt, receiptCallback())).status).toBe(200);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('serves the contract where the admin token is set, and not elsewhere', async () => {
  const contract = async (env: Record<string, string>) => {
    const service = await spawnService({ DATABASE_URL: database.url, ...env });
    const answer = await fetch(`${service.url}/openapi.json`);
    const document = (await answer.json()) as { openapi?: string };
    expect(await service.end('SIGTERM')).toBe(0);
    return [answer.status, document.openapi];
  };
  expect(await contract({})).toEqual([404, undefined]);
  expect(await contract({ ADMIN_TOKEN: '0123456789abcdef' })).toEqual([200, '3.1.0']);
});

import { readFileSync } from 'node:fs';
import pg from 'pg';
import { parseAllDocuments } from 'yaml';
import { createDatabase, type TestDatabase } from '../../support/database.ts';

interface ScaledObject {
  spec: { triggers: [{ metadata: { query: string } }] };
}

const [scaler] = parseAllDocuments(
  readFileSync('deploy/kubernetes/components/keda/worker-scaler.yaml', 'utf8'),
).map((document) => document.toJS() as ScaledObject);
const { query } = scaler!.spec.triggers[0].metadata;

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  // Roles belong to the server, which other tests use too.
  const role = database.url.split('/').at(-1)!.replace('test_', 'scaler_');
  const [, recipe] = /```sql\n(create role receiver_scaler[\s\S]*?)```/.exec(
    readFileSync('docs/kubernetes.md', 'utf8'),
  )!;
  await database.pool.query(recipe!.replaceAll('receiver_scaler', role));
  const url = new URL(database.url);
  url.username = role;
  url.password = encodeURIComponent('…');
  client = new pg.Client(url.href);
  await client.connect();
});
afterAll(async () => {
  const { user } = client;
  await client.end();
  await database.pool.query(`drop owned by ${user}; drop role ${user}`);
  await database.close();
});

const age = async () => Object.values((await client.query(query)).rows[0] as object);

it('the query of the workers’ scaler gives the age of the oldest waiting delivery as whole seconds, 0 without any', async () => {
  expect(await age()).toEqual([0]);
  const began = performance.now();
  await database.pool.query(`
    insert into pending_deliveries (id, family, received_at)
    select gen_random_uuid(), 'receipt', now() - make_interval(secs => n * 0.01) from generate_series(1, 3000) n`);
  const [seconds] = await age();
  expect(seconds).toBeGreaterThan(30);
  expect(seconds).toBeLessThanOrEqual(Math.ceil(30 + (performance.now() - began) / 1_000));
});

it('the query reads one entry of an index, whatever waits', async () => {
  await database.pool.query('analyze pending_deliveries');
  const plan = await database.rows(`explain ${query}`);
  expect(JSON.stringify(plan)).toMatch(/Limit.*Index Only Scan using pending_deliveries_by_age/);
});

it('the scaler’s role can read nothing else', async () => {
  for (const forbidden of [
    'select id from pending_deliveries',
    'select from inbox',
    'delete from pending_deliveries',
  ]) {
    await expect(client.query(forbidden)).rejects.toThrow('permission denied');
  }
});

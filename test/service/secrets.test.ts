import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { replayQuarantine } from '../../src/intake/replay-quarantine.ts';
import { deliveryOf, paths, samples } from '../support/callbacks.ts';
import { contentsOf, startRedis, type TestRedis } from '../support/redis.ts';
import { post, testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const { database, start } = useService({ per: 'test' });
let redis: TestRedis;
let lines: string[];
let url: string;
beforeEach(async () => {
  redis = await startRedis();
  lines = [];
  const log = createLog('trace', { write: (line) => lines.push(line) });
  ({ url } = await start({ redisUrl: redis.url, log, sweep: { everyMs: 100, olderThanMs: 100 } }));
});
afterEach(() => redis.stop());

const secret = '918273';
const confirmed = (token = secret) =>
  samples.other({
    event: 'abha.context_discover_link_confirm',
    data: { linkRefNumber: 'l', request_id: 'r', token, key_information: { nonce: secret } },
  });
const send = async (path: string, callback: object) => {
  const response = await post(url + path, callback);
  return [response.status, await response.json()] as const;
};
const { id } = deliveryOf(confirmed());
/** A slow statement may put a resend into Redis first, where it is no duplicate yet. */
const isDuplicate = () =>
  until(async () => {
    const [status, answer] = await send(paths.other, confirmed());
    expect([status, answer]).toMatchObject([200, { id }]);
    return (answer as { status: string }).status === 'duplicate';
  });
const isDelivered = () =>
  until(async () => (await database.rows(`select from deliveries where status = 'applied'`)).length === 1);

/** The tables, and the log, that contain a text. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await database.rows(`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'`);
  const places = [];
  for (const { name } of tables) {
    const found = await database.rows(
      `select from ${name} t where t::text like '%${text}%' or t::text like '%${Buffer.from(text).toString('hex')}%'`,
    );
    if (found.length > 0) places.push(String(name));
  }
  return lines.join().includes(text) ? [...places, 'log'] : places;
}

it('a one-time password and keys are in no table and no log; a resend is a duplicate, another password another delivery', async () => {
  expect(await send(paths.other, confirmed())).toEqual([200, { status: 'accepted', id }]);
  await isDuplicate();
  await isDelivered();
  const { data } = confirmed();
  const redacted = { ...data, token: '[redacted]', key_information: '[redacted]' };
  expect(await database.rows('select extra from other_events')).toEqual([{ extra: redacted }]);
  expect(await send(paths.other, confirmed('111111'))).toMatchObject([200, { status: 'accepted' }]);
  expect(await placesOf(secret)).toEqual([]);
});

it('they are not in Redis while PostgreSQL is away, and a later resend is a duplicate', async () => {
  await database.rows('alter table inbox rename to elsewhere');
  await until(async () => (await send(paths.other, confirmed()))[0] === 200);
  const stored = await contentsOf(redis.client());
  expect(stored).toContain('context_discover_link_confirm');
  expect(stored).not.toContain(secret);
  await database.rows('alter table elsewhere rename to inbox');
  await isDelivered();
  await isDuplicate();
  expect(await placesOf(secret)).toEqual([]);
});

it('they are not in the quarantine, and its replay is the same delivery as a resend', async () => {
  expect((await send(paths.receipt, confirmed()))[0]).toBe(422);
  const text = JSON.stringify(confirmed());
  expect((await post(url + paths.other, text.slice(0, -1))).status).toBe(400);
  expect((await post(url + paths.other, text.replace('"data":{', '"data":{,'))).status).toBe(400);
  expect(await placesOf(secret)).toEqual([]);
  const rows = await database.rows('select reason, delivery_id from quarantine order by reason');
  expect(rows).toEqual([
    { reason: 'invalid', delivery_id: id },
    { reason: 'not_json', delivery_id: null },
    { reason: 'not_json', delivery_id: null },
  ]);

  const log = createLog('silent');
  const circuit = databaseCircuit(database.pool, { log });
  const config = { ...testConfig({}), paths: { other: [paths.receipt] } };
  const intake = createIntake({ config, families, pool: database.pool, circuit, log });
  const outcome = await replayQuarantine(database.db, { reason: 'invalid' }, intake, { dryRun: false });
  await intake.close();
  circuit.stop();
  expect(outcome).toMatchObject({ accepted: 1, duplicates: 0 });
  await isDelivered();
  await isDuplicate();
  expect(await database.rows('select id from inbox')).toEqual([{ id }]);
});

it('a delivery that PostgreSQL refuses after it was acknowledged keeps its id in the quarantine', async () => {
  await database.rows('alter table inbox rename to elsewhere');
  await until(async () => (await send(paths.other, confirmed()))[0] === 200);
  await database.rows(`alter table elsewhere add constraint strict check (event <> '${confirmed().event}');
    alter table elsewhere rename to inbox`);
  await until(async () => (await database.rows('select from quarantine')).length === 1);
  expect(await database.rows('select delivery_id, acknowledged from quarantine')).toEqual([
    { delivery_id: id, acknowledged: true },
  ]);
  expect(await placesOf(secret)).toEqual([]);
});

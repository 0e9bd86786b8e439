import { families } from '../../src/callbacks/families/index.ts';
import { type Config, InvalidConfiguration } from '../../src/common/config/config.ts';
import { addOperationsCommands } from '../../src/operations/commands.ts';
import { readReadiness } from '../../src/operations/process-checks.ts';
import { readChecks } from '../../src/operations/read-checks.ts';
import { recordSilence } from '../../src/operations/silence.ts';
import type { Core, RunningCore } from '../../src/receiver/feature.ts';
import { TablesRefused } from '../../src/receiver/store/errors.ts';
import { fingerprintOf, migrate } from '../../src/receiver/store/migrate.ts';
import { canary } from '../support/canary.ts';
import { circuitOf, fallbackOf, stateOf } from '../support/core.ts';
import { connect } from '../support/database.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { useRedis } from '../support/redis.ts';
import { runCommandOn } from '../support/run-command.ts';
import { faults, openCore } from './support.ts';

const database = useReceiverDatabase();
const redis = useRedis();
let core: RunningCore;
beforeAll(() => {
  core = openCore(database);
});

const id = '018f0000-0000-8000-8000-000000000001';
const old = `now() - interval '2 minutes'`;
const store = (family = 'receipt', stored = old, next = old) => `
  insert into receiver.inbox values ('${id}', '${family}', 'receipt.created', '', 'b', '${canary}', '1', now(), '{p:platform:${canary}}',
    '{"data": {"name": "${canary}"}}', null, now(), ${stored});
  insert into receiver.pending_deliveries (id, family, next_at, error) values ('${id}', '${family}', ${next}, '${canary}')`;
const unstore = 'delete from receiver.pending_deliveries; delete from receiver.inbox';
const reject = (isAcknowledged: boolean) => `
  insert into receiver.quarantine (id, path, family, reason, errors, body, acknowledged)
  values ('${id}', '/${canary}', 'receipt', 'invalid', '[{"path": "/data", "message": "${canary}"}]', '${canary}', ${isAcknowledged})`;
const count = (name: string, key = '') =>
  `insert into receiver.counters values ('${name}', '${key}', 12, now(), now(), '${id}')`;
const uncount = `update receiver.counters set first_at = '2020-01-01', last_at = '2020-01-01'`;
const made = (fingerprint: string) =>
  `update receiver.settings set value = '${fingerprint}' where name = 'families'`;
const hourly = `
  insert into receiver.inbox select gen_random_uuid(), 'receipt', 'receipt.created', '', 'b', '${canary}' || at, '1', at, '{}', '{}', null, at, at
  from generate_series(now() - interval '30 days', now() - interval '2 days', '1 hour') at`;
/** A history that came just now, in which a business stops. */
const history = hourly.replace(
  `'1', at, '{}', '{}', null, at, at`,
  `'1', at, '{}', '{}', null, now(), now()`,
);
const gap = `insert into receiver.heartbeats values (now() - interval '1 hour'), (now() - interval '30 minutes')`;
const failing = `insert into receiver.tasks values ('trim', '${id}', '-infinity', now(), now() - interval '2 hours')`;
const late = `insert into receiver.tasks values ('trim', '${id}', '-infinity', now() - interval '2 hours')`;

const task = { name: 't', tasks: () => [{ name: 'trim' } as never] };
const readWithTask = () => readChecks({ ...core, features: [...core.features, task] });

it.each`
  expected                       | breaks                                                                   | mends
  ${'tables fail'}               | ${made('of another version')}                                            | ${made(fingerprintOf(families))}
  ${'waiting receipt fail'}      | ${store()}                                                               | ${unstore}
  ${'waiting of-nobody fail'}    | ${store('of-nobody')}                                                    | ${unstore}
  ${'failed receipt fail'}       | ${store('receipt', 'now()', `'infinity'`)}                               | ${unstore}
  ${'quarantine invalid warn'}   | ${reject(false)}                                                         | ${`update receiver.quarantine set last_received_at = now() - interval '2 days'`}
  ${'acknowledged invalid fail'} | ${'update receiver.quarantine set acknowledged = true'}                  | ${'update receiver.quarantine set replayed_at = now()'}
  ${'rights pg_monitor warn'}    | ${'grant insert on access_log to pg_monitor'}                            | ${'revoke all on access_log from pg_monitor'}
  ${'rejections 401 warn'}       | ${count('rejections', '2026-01-01T00 401')}                              | ${uncount}
  ${'drift warn'}                | ${count('drift', `["receipt.created","/data/new","value","${canary}"]`)} | ${uncount}
  ${'stale warn'}                | ${count('stale')}                                                        | ${uncount}
  ${'silence b warn'}            | ${hourly}                                                                | ${unstore}
  ${'silence b warn'}            | ${history}                                                               | ${unstore}
  ${'lost .* fail'}              | ${count('lost', id)}                                                     | ${uncount}
  ${'outage .* warn'}            | ${gap}                                                                   | ${'delete from receiver.heartbeats'}
  ${'task trim fail'}            | ${failing}                                                               | ${'delete from receiver.tasks'}
  ${'task trim fail'}            | ${late}                                                                  | ${'delete from receiver.tasks'}
`('$expected: it is seen, without personal data, and it ends', async ({ expected, breaks, mends }) => {
  const read = async () => {
    await recordSilence(core.db);
    return readWithTask();
  };
  expect(faults(await read())).toEqual([]);
  await database.rows(breaks);
  const checks = await read();
  expect(faults(checks)).toEqual([expect.stringMatching(new RegExp(`^${expected}$`))]);
  expect(checks[0]!.todo).toBeTruthy();
  expect(JSON.stringify(checks)).not.toContain(canary);
  await database.rows(mends);
  expect(faults(await read())).toEqual([]);
});

it('a task that has just lost its worker is due since then, not since it began', async () => {
  await database.rows(
    `insert into receiver.tasks values ('trim', '${id}', now() - interval '1 minute', '2020-01-01')`,
  );
  expect(faults(await readWithTask())).toEqual([]);
  await database.rows(`update receiver.tasks set held_until = '2026-01-01T00:00Z'`);
  const lost = (await readWithTask()).find(({ about }) => about === 'trim');
  expect(lost).toMatchObject({ status: 'fail', since: new Date('2026-01-01') });
  await database.rows('delete from receiver.tasks');
});

it('a business that stopped after a few callbacks is not said to send as usual', async () => {
  await database.rows(hourly.replace(`'1 hour'`, `'7 days'`));
  await recordSilence(core.db);
  const silence = (await readChecks(core)).find(({ name }) => name === 'silence');
  expect(silence).toMatchObject({
    status: 'ok',
    title: 'No business lacks five callbacks that it used to send',
  });
  await database.rows(unstore);
});

it('callbacks that only now wait, or that are replayed, are no fault', async () => {
  await database.rows(store('receipt', 'now()'));
  expect(faults(await readChecks(core))).toEqual([]);
  await database.rows(`update receiver.inbox set stored_at = now() - interval '1 year'`);
  await database.rows('update receiver.pending_deliveries set next_at = now()');
  expect(faults(await readChecks(core))).toEqual([]);
  await database.rows(unstore);
});

/** A process with this state and these access checks. */
const processOf = (state: object, rules: Partial<Config['authentication']> = {}): RunningCore => {
  const authentication = { ...core.config.authentication, ...rules };
  return { ...core, config: { ...core.config, authentication }, process: stateOf({ ...state }) };
};

const away = circuitOf(async () => false);
const broken = circuitOf(() => Promise.reject(new Error(canary)));
const keepsNothing = fallbackOf({ acknowledges: false });
const undrained = fallbackOf({}, { count: 3, oldest: new Date(0) });
const ahead = { refresh: async () => {}, now: () => Date.now() + 90_000 };

it.each`
  wrong                       | state                                                       | expected                              | ready
  ${'nothing'}                | ${{}}                                                       | ${[]}                                 | ${true}
  ${'PostgreSQL'}             | ${{ circuit: away }}                                        | ${['database fail']}                  | ${true}
  ${'its driver'}             | ${{ circuit: broken }}                                      | ${['database fail']}                  | ${true}
  ${'it, without Redis'}      | ${{ circuit: away, queue: undefined, fallback: undefined }} | ${['database fail']}                  | ${false}
  ${'it, REDIS_FALLBACK=off'} | ${{ circuit: away, fallback: undefined }}                   | ${['database fail']}                  | ${false}
  ${'it, and settings'}       | ${{ circuit: away, fallback: keepsNothing }}                | ${['database fail', 'fallback warn']} | ${false}
  ${'Redis'}                  | ${{ queue: { isAvailable: false } }}                        | ${['queue fail']}                     | ${true}
  ${'its settings'}           | ${{ fallback: keepsNothing }}                               | ${['fallback warn']}                  | ${true}
  ${'the drain'}              | ${{ fallback: undrained }}                                  | ${['drain fail']}                     | ${true}
  ${'the clock'}              | ${{ clock: ahead }}                                         | ${['clock fail']}                     | ${true}
  ${'no clock'}               | ${{ clock: { ...ahead, now: () => undefined } }}            | ${['clock warn']}                     | ${true}
  ${'the proxy'}              | ${{ access: { warning: () => 'X-Forwarded-For' } }}         | ${['access warn']}                    | ${true}
`('of a process: $wrong', async ({ state, expected, ready }) => {
  const found = await readReadiness(processOf(state));
  expect({ faults: faults(found.checks), ready: found.ready }).toEqual({ faults: expected, ready });
  expect(JSON.stringify(found)).not.toContain(canary);
});

it.each([
  ['none', { signingKeys: [] }],
  ['a list of clients alone', { signingKeys: [], allowedClientIds: ['c'] }],
  ['addresses behind a proxy that does not count', { signingKeys: [], allowedIps: ['203.0.113.1'] }],
])('access checks that may not do what they should: %s', async (_, rules) => {
  const { checks } = await readReadiness(processOf({}, rules));
  expect(faults(checks)).toEqual(['access warn']);
});

/** Runs `receiver doctor`. */
async function doctor(run: (action: (core: Core) => Promise<void>) => Promise<void>, ...args: string[]) {
  const code = process.exitCode;
  try {
    const output = await runCommandOn(run, addOperationsCommands, 'doctor', ...args);
    return { output, code: process.exitCode };
  } finally {
    process.exitCode = code;
  }
}

it('doctor names every fault of the configuration, and what to do without PostgreSQL and Redis', async () => {
  const invalid = await doctor(() =>
    Promise.reject(new InvalidConfiguration(['PORT is wrong', 'HOST, too'])),
  );
  expect(invalid.code).toBe(1);
  expect(invalid.output).toMatch(/^fail +configuration +PORT is wrong\nfail +configuration +HOST, too\n$/);
  const wrong = Object.assign(new URL(database.url), { password: 'wrong' }).href;
  const { pool } = connect(wrong, 2);
  const config = { ...core.config, redisUrl: 'redis://127.0.0.1:1', queuePrefix: 'a' };
  const isolated = { ...core, pool, config };
  const { code, output } = await doctor((action) => action(isolated));
  expect(code).toBe(1);
  for (const text of [
    'password authentication failed',
    'PostgreSQL takes no callbacks',
    'Redis is unavailable',
    'other checks could not be read',
  ])
    expect(output).toContain(text);
  await pool.end();
});

it('doctor finds no fault in a receiver that could run, and writes only settings into Redis', async () => {
  const config = { ...core.config, redisUrl: redis.url };
  const { output } = await doctor((action) => action({ ...core, config }));
  expect(output).toMatch(/^ok +access/m);
  expect(output).toMatch(/^ok +fallback/m);
  // The server of tests need not outlive a crash.
  expect(output.match(/^fail .*/gm)?.filter((line) => !line.includes('fsync')) ?? []).toEqual([]);
  // Whether it takes writes is tried with one that expires.
  const keys = ['{receiver}:deliveries:meta', '{receiver}:probe'];
  expect((await redis.client().keys('*')).toSorted()).toEqual(keys);
});

it('doctor finds a PostgreSQL that takes no row, such as one whose disk is full, and says why', async () => {
  await database.rows(`
    create function fill() returns trigger language plpgsql as $$ begin raise disk_full using message = 'no space'; end $$;
    create trigger fill before insert on receiver.inbox for each row execute function fill()`);
  const { output, code } = await doctor((action) => action(core));
  expect([code, output]).toEqual([1, expect.stringMatching(/^fail +database .*53100 no space/m)]);
  await database.rows('drop trigger fill on receiver.inbox');
});

it('a database in another encoding is refused, with the command that makes a right one', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const [version] = await database.rows(`select current_setting('server_version_num')::int as n`);
  const locale = `${(version!.n as number) >= 150_000 ? 'locale_provider libc' : ''} lc_collate 'C' lc_ctype 'C'`;
  const open = (pathname: string) => connect(Object.assign(new URL(database.url), { pathname }).href, 2);
  await database.rows(`create database ${name}_wrong encoding 'LATIN1' ${locale} template template0`);
  const wrong = open(`${name}_wrong`);
  const error = await migrate(wrong.db, families, core.log).catch((one) => one);
  expect(error).toBeInstanceOf(TablesRefused);
  const { output } = await doctor((action) => action({ ...core, pool: wrong.pool }));
  expect(output).toMatch(/^fail +server +The encoding of the database is LATIN1/m);
  const [command] = /create database .*/.exec(error.message)!;
  expect(output).toContain(command);
  await database.rows(command.replace('receiver_utf8', `${name}_right`));
  const right = open(`${name}_right`);
  expect(await migrate(right.db, families, core.log)).toContain('reporting');
  for (const { pool } of [wrong, right]) await pool.end();
  for (const one of ['wrong', 'right']) await database.rows(`drop database ${name}_${one}`);
});

it('a check that throws is a fault of its own, and hides no other', async () => {
  const throws = { name: 'broken', checks: () => Promise.reject(new Error(canary)) };
  await database.rows('alter table receiver.heartbeats rename to beats; drop view reporting.outages');
  const checks = await readChecks({ ...core, features: [throws, ...core.features] });
  expect(faults(checks)).toEqual(['unreadable broken fail', 'unreadable outage fail']);
  expect(checks.length).toBeGreaterThan(10);
  expect(JSON.stringify(checks)).not.toContain(canary);
  await database.rows('alter table receiver.beats rename to heartbeats');
});

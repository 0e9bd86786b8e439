import { join } from 'node:path';
import pg from 'pg';
import { oursEmbedded, oursOnRedis } from './contenders/ours.ts';
import { runLoad } from './load/run-load.ts';
import { benchCommand } from './options.ts';
import { type Program, startProgram } from './process/program.ts';
import { cpuSeconds } from './process/usage.ts';
import { describeSetting } from './report/setting.ts';
import { writeReport } from './report/write.ts';
import { prepare } from './session.ts';
import { scalar, startPostgres } from './stores/postgres.ts';
import { startRedis } from './stores/redis.ts';
import { untilEmpty } from './until-empty.ts';

// Two servers side by side get the same callbacks in the same seconds. On one of them a session keeps a snapshot from the
// first callback to the last, so that PostgreSQL removes no row that was deleted since.

const options = benchCommand(
  'bench:long-transaction',
  'What a transaction that stays open costs: CPU of PostgreSQL and the worker per callback, and the rate',
  { minutes: 10, rate: 500, connections: 16, dead: 0, seconds: 8, drain: 120 },
)
  .option('--redis', 'the queue in Redis instead of PostgreSQL')
  .parse()
  .opts<{
    minutes: number;
    rate: number;
    connections: number;
    dead: number;
    seconds: number;
    drain: number;
    results: string;
    redis?: true;
  }>();

const folder = '.data/bench-long';
const segmentS = 60;
const token = 'a-token-of-the-benchmark';
const contender = options.redis ? oursOnRedis : oursEmbedded;

/** A statement's cost on one server, by pg_stat_statements. */
interface Cost {
  query: string;
  calls: number;
  ms: number;
  buffers: number;
}

async function startOne(name: string, held: boolean) {
  const postgres = await startPostgres(join(folder, name), [
    'shared_preload_libraries=pg_stat_statements',
    'pg_stat_statements.track=all',
  ]);
  const redis = options.redis ? await startRedis(join(folder, `${name}-redis`)) : undefined;
  const stores = { databaseUrl: await postgres.freshDatabase(), redisUrl: redis?.url ?? '' };
  await contender.prepare!(stores);
  const client = new pg.Client({ connectionString: stores.databaseUrl });
  await client.connect();
  await client.query('create extension if not exists pg_stat_statements');
  const programs: Program[] = [];
  for (const { command, env } of [contender.receiver, contender.worker!])
    programs.push(await startProgram(command, { ...env(stores), METRICS_TOKEN: token }));
  const [receiver, worker] = programs as [Program, Program];
  const holder = held ? new pg.Client({ connectionString: stores.databaseUrl }) : undefined;
  await holder?.connect();
  await holder?.query('begin isolation level repeatable read; select 1');
  if (options.dead > 0) {
    await client.query(
      `insert into pending_deliveries
       select gen_random_uuid(), 'receipt', now() - n * interval '1 ms' from generate_series($1::int, 1, -1) n`,
      [options.dead],
    );
    await client.query('delete from pending_deliveries');
  }
  // What Prometheus does.
  const scraping = setInterval(() => {
    const headers = { authorization: `Bearer ${token}` };
    void fetch(`${receiver.url}/metrics`, { headers }).then((response) => response.text(), String);
  }, 15_000);

  const costs = async (): Promise<Cost[]> => {
    const { rows } = await client.query<Cost>(`
      select regexp_replace(query, '\\s+', ' ', 'g') as query, sum(calls)::float8 as calls, sum(total_exec_time) as ms,
        sum(shared_blks_hit + shared_blks_read)::float8 as buffers
      from pg_stat_statements where toplevel group by 1 order by 3 desc limit 12`);
    return rows;
  };
  const waiting = () => contender.waiting!(stores);
  const load = (rate: number | undefined, seconds: number, seed: number) =>
    runLoad({
      url: receiver.url,
      path: '/registered_url_for_receipt_events',
      connections: rate ? options.connections : 64,
      seconds,
      warmup: 0,
      rate,
      seed,
      signingKey: contender.signingKey,
    });

  return {
    name,
    /** Milliseconds of CPU per 10,000 callbacks at the fixed rate. */
    segment: async (seed: number) => {
      await client.query('select pg_stat_statements_reset()');
      const before = { postgres: cpuSeconds(postgres.pid), worker: cpuSeconds(worker.pid) };
      const { acknowledged, p99 } = await load(options.rate, segmentS, seed);
      const left = await untilEmpty(waiting, options.drain);
      const per = 10_000 / acknowledged;
      return {
        acknowledged,
        left,
        p99,
        postgres: (cpuSeconds(postgres.pid) - before.postgres) * per,
        worker: (cpuSeconds(worker.pid) - before.worker) * per,
        dead: await scalar(
          stores.databaseUrl,
          `select pg_stat_get_dead_tuples('pending_deliveries'::regclass)`,
        ),
        costs: await costs(),
      };
    },
    /** Rows per second at full load, from the first request to the last row. */
    full: async (seed: number) => {
      const { acknowledged, began } = await load(undefined, options.seconds, seed);
      const left = await untilEmpty(waiting, options.drain);
      return (acknowledged - left) / ((Date.now() - began) / 1000);
    },
    stop: async () => {
      clearInterval(scraping);
      await holder?.end();
      await client.end();
      for (const program of programs.reverse()) await program.stop();
      await redis?.stop();
      await postgres.stop();
    },
    version: postgres.version,
  };
}

const say = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);
await prepare();
const without = await startOne('without', false);
const held = await startOne('held', true);
type Segment = Awaited<ReturnType<typeof held.segment>>;
const segments: [Segment, Segment][] = [];
const rates: [number, number][] = [];
try {
  for (let minute = 0; minute < options.minutes; minute += 1) {
    const [a, b] = await Promise.all([without.segment(minute), held.segment(minute)]);
    segments.push([a, b]);
    const of = ({ acknowledged, postgres, worker, dead, left, p99 }: Segment) =>
      `${acknowledged}, left ${left}, p99 ${p99.toFixed(0)} ms, CPU s/10k: PostgreSQL ${postgres.toFixed(2)}, worker ${worker.toFixed(2)}, dead ${dead}`;
    say(`minute ${minute + 1}: without ${of(a)}; held ${of(b)}`);
  }
  for (const [name, index] of [
    ['without', 0],
    ['held', 1],
  ] as const) {
    process.stderr.write(`statements of the last minute, ${name}\n`);
    for (const { query, calls, ms, buffers } of segments.at(-1)![index].costs) {
      const figures = `${calls} calls, ${(ms / calls).toFixed(3)} ms and ${(buffers / calls).toFixed(0)} buffers each, ${ms.toFixed(0)} ms`;
      process.stderr.write(`  ${figures}: ${query.slice(0, 110)}\n`);
    }
  }
  for (let round = 0; round < 3; round += 1) {
    const seed = 1000 + round * 10;
    const first = await without.full(seed);
    rates.push([first, await held.full(seed)]);
    say(
      `full load: without ${rates
        .at(-1)!
        .map((rate) => rate.toFixed(0))
        .join(', held ')} rows/s`,
    );
  }
} finally {
  await held.stop();
  await without.stop();
}

const setting = describeSetting({ postgres: held.version });
const row = (what: string, of: (segment: Segment) => number, digits = 2) => [
  what,
  ...[segments[0]!, segments.at(-1)!].flatMap((pair) => pair.map((segment) => of(segment).toFixed(digits))),
];
const file = writeReport(options.results, {
  name: `long-transaction-${options.redis ? 'redis-' : ''}${setting.date}-${setting.commit!.split(' ')[0]}`,
  setting: {
    ...setting,
    load: `${options.minutes} minutes at ${options.rate} callbacks/s on each of two servers; ${options.dead} dead rows before`,
  },
  tables: [
    [
      ['', 'first minute, without', 'first minute, held', 'last minute, without', 'last minute, held'],
      row('CPU s of PostgreSQL per 10,000', ({ postgres }) => postgres),
      row('CPU s of the worker per 10,000', ({ worker }) => worker),
      row('p99, ms', ({ p99 }) => p99, 0),
      row('dead rows of pending_deliveries', ({ dead }) => dead, 0),
    ],
    [
      ['rows/s at full load, at the end', 'without', 'held', 'held ÷ without'],
      ...rates.map(([a, b], round) => [`round ${round + 1}`, a.toFixed(0), b.toFixed(0), (b / a).toFixed(2)]),
    ],
  ],
});
say(`written to ${file}`);

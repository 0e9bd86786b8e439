import { oursOnRedis } from './contenders/ours.ts';
import { fill } from './growth/fill.ts';
import { loneCommits } from './growth/lone-commit.ts';
import { type Bench, freshStores, together } from './measure.ts';
import { type BenchOptions, benchCommand } from './options.ts';
import { describeSetting } from './report/setting.ts';
import { show, spread } from './report/statistics.ts';
import { writeReport } from './report/write.ts';
import { withSession } from './session.ts';

type GrowthOptions = BenchOptions & { rows: number };

const options = benchCommand(
  'bench:growth',
  'Compares rows applied per second on a full database and on an empty one',
  { rows: 2_000_000, seconds: 8, rounds: 3, connections: 64, warmup: 2, drain: 90 },
)
  .parse()
  .opts<GrowthOptions>();

interface Round {
  appliedPerSecond: number;
  lone: { ours: number; plain: number };
}

await withSession(async (session) => {
  const bench: Bench = { ...session, options };
  const full = await freshStores(bench, oursOnRedis, 'bench_full');
  const rates = await fill(full.databaseUrl, options.rows, (done) =>
    session.say(`${done} of ${options.rows} rows`),
  );
  const rounds: { empty: Round; full: Round }[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    const empty = await freshStores(bench, oursOnRedis);
    session.say(`round ${round} of ${options.rounds}: empty database, then full database`);
    rounds.push({
      empty: await measureOn(bench, empty, round * 1000),
      full: await measureOn(bench, full, round * 1000),
    });
  }

  const cell = (of: (round: (typeof rounds)[number]) => number, digits: number) =>
    show(spread(rounds.map(of)), digits);
  const lone = ({ ours, plain }: Round['lone']) => ours / plain;
  const table = [
    ['', 'empty', `${options.rows} rows`, 'full ÷ empty', 'goal'],
    [
      'rows applied/s',
      cell(({ empty }) => empty.appliedPerSecond, 0),
      cell(({ full }) => full.appliedPerSecond, 0),
      cell(({ empty, full }) => full.appliedPerSecond / empty.appliedPerSecond, 2),
      'at least 0.9',
    ],
    [
      'a commit of one ÷ a plain insert of one',
      cell(({ empty }) => lone(empty.lone), 2),
      cell(({ full }) => lone(full.lone), 2),
      '',
      'at most 1',
    ],
  ];
  const setting = describeSetting({ postgres: session.postgres.version, redis: session.redis.version });
  const file = writeReport(options.results, {
    name: `growth-${setting.date}-${setting.commit!.split(' ')[0]}`,
    setting: { ...setting, load: `${options.rounds} rounds, ${options.seconds} s each` },
    tables: [growthTable(rates), table],
  });
  session.say(`written to ${file}`);
});

/** The rates of one connection, whose plans were made for empty tables. */
function growthTable(rates: readonly number[]): string[][] {
  const [first, last] = [rates[0]!, rates.at(-1)!];
  return [
    [
      'one worker connection, from empty tables',
      'first 100,000',
      'slowest',
      'last 100,000',
      'last ÷ first',
      'goal',
    ],
    [
      'applied/s',
      ...[first, Math.min(...rates), last].map((rate) => rate.toFixed(0)),
      (last / first).toFixed(2),
      'at least 0.9',
    ],
  ];
}

async function measureOn(
  bench: Bench,
  stores: { databaseUrl: string; redisUrl: string },
  seed: number,
): Promise<Round> {
  await bench.redis.empty();
  const { appliedPerSecond } = await together(bench, oursOnRedis, stores, seed);
  return { appliedPerSecond, lone: await loneCommits(stores.databaseUrl, seed + 900, 200) };
}

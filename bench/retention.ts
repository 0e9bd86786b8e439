import { createLog } from '../src/common/log.ts';
import { families } from '../src/families/index.ts';
import { sum } from '../src/privacy/counts.ts';
import { pauseFor, runRetention } from '../src/privacy/retention/retention.ts';
import { openDatabase } from '../src/store/database.ts';
import { receiptsPath } from './contenders/contender.ts';
import { oursOnRedis } from './contenders/ours.ts';
import type { LoadFigures } from './load/order.ts';
import { runLoad } from './load/run-load.ts';
import { freshStores } from './measure.ts';
import { benchCommand } from './options.ts';
import { startProgram } from './process/program.ts';
import { describeSetting } from './report/setting.ts';
import { show, spread } from './report/statistics.ts';
import { writeReport } from './report/write.ts';
import { deliveriesPerReceipt, fill } from './reports/fill.ts';
import { withSession } from './session.ts';

const days = 365;
const dayMs = 24 * 60 * 60 * 1000;
const options = benchCommand(
  'bench:retention',
  'Deletes one of twelve months of deliveries while callbacks come in at half load',
  { deliveries: 5_000_000, connections: 64, seconds: 8, loads: 3 },
)
  .parse()
  .opts<{ deliveries: number; connections: number; seconds: number; loads: number; results: string }>();

await withSession(async (session) => {
  const { say } = session;
  const stores = await freshStores(
    { ...session, options: { ...options, rounds: 1, warmup: 1, drain: 0 } },
    oursOnRedis,
    'bench_retention',
  );
  const log = createLog('warn');
  const database = openDatabase(stores.databaseUrl, log, { connections: 3, name: 'bench' });
  const { db, pool } = database;
  await fill(db, { receipts: Math.round(options.deliveries / deliveriesPerReceipt), days }, (day, made) => {
    if (day % 20 === 0 || day === days) say(`day ${day} of ${days}: ${made} deliveries`);
  });
  await pool.query('vacuum analyze');
  await pool.query('checkpoint');

  const programs = [
    await startProgram(oursOnRedis.receiver.command, oursOnRedis.receiver.env(stores)),
    await startProgram(oursOnRedis.worker!.command, oursOnRedis.worker!.env(stores)),
  ];
  const { signingKey } = oursOnRedis;
  let seed = 1;
  const load = async (rate: number | undefined): Promise<LoadFigures> => {
    const { connections, seconds } = options;
    seed += 1;
    return runLoad({
      url: programs[0]!.url,
      path: receiptsPath,
      signingKey,
      connections,
      seconds,
      warmup: 1,
      rate,
      seed,
      start: Date.now() - 200 * dayMs,
    });
  };
  const loads = async (rate: number) => {
    const figures: LoadFigures[] = [];
    for (let count = 0; count < options.loads; count += 1) figures.push(await load(rate));
    return figures;
  };
  try {
    const rate = (await load(undefined)).perSecond / 2;
    say(`half load: ${rate.toFixed(0)}/s`);
    const without = await loads(rate);

    const kept = dayMs * (days - days / 12);
    const retention = Object.fromEntries(families.map(({ name }) => [name, kept]));
    const pass = { seconds: 0, deliveries: 0, steps: 0, stepMs: [] as number[] };
    const began = performance.now();
    const passing = runRetention(db, families, retention, {
      actor: { id: 'bench' },
      pause: (ms) => {
        pass.stepMs.push(ms);
        return new Promise((resolve) => setTimeout(resolve, pauseFor(ms)));
      },
    }).then((outcomes) => {
      pass.seconds = (performance.now() - began) / 1000;
      pass.deliveries = outcomes.reduce((total, { deleted }) => total + (deleted.deliveries ?? 0), 0);
      say(
        `pass: ${pass.seconds.toFixed(1)} s, ${outcomes.map(({ policy, deleted }) => `${policy} ${sum(deleted)}`).join(', ')}`,
      );
    });
    const during: LoadFigures[] = [];
    // A load that ends after the pass would measure its absence.
    while (pass.seconds === 0) {
      const figures = await load(rate);
      if (pass.seconds === 0 || during.length === 0) during.push(figures);
    }
    await passing;
    without.push(...(await loads(rate)));

    const cell = (figures: readonly LoadFigures[], of: (one: LoadFigures) => number) =>
      show(spread(figures.map(of)), 1);
    const line = (title: string, figures: readonly LoadFigures[]) => [
      title,
      String(figures.length),
      ...[
        cell(figures, ({ p50 }) => p50),
        cell(figures, ({ p99 }) => p99),
        cell(figures, ({ perSecond }) => perSecond),
      ],
    ];
    const median = pass.stepMs.toSorted((a, b) => a - b)[pass.stepMs.length >> 1]!;
    const setting = describeSetting({ postgres: session.postgres.version, redis: session.redis.version });
    const file = writeReport(options.results, {
      name: `retention-${setting.date}-${setting.commit!.split(' ')[0]}`,
      setting: {
        ...setting,
        load: `${rate.toFixed(0)} callbacks/s, half of full load; loads of ${options.seconds} s`,
      },
      tables: [
        [
          ['a pass', 'deliveries deleted', 'seconds', 'steps', 'median ms of a step', 'goal'],
          [
            ...[
              `one of twelve months of ${options.deliveries}`,
              String(pass.deliveries),
              pass.seconds.toFixed(1),
            ],
            ...[String(pass.stepMs.length), median.toFixed(0), 'at most 120 s of 5 million'],
          ],
        ],
        [
          ['intake', 'loads', 'p50 ms', 'p99 ms', 'acknowledged/s'],
          line('without a pass', without),
          line('during the pass', during),
        ],
      ],
    });
    say(`written to ${file}`);
  } finally {
    for (const program of programs.toReversed()) await program.stop();
    await database.close();
  }
});

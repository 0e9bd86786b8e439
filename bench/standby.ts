import { setSynchronous, startPrimary, startStandby } from '../test/support/standby.ts';
import { receiptsPath } from './contenders/contender.ts';
import { oursEmbedded } from './contenders/ours.ts';
import type { LoadFigures } from './load/order.ts';
import { runLoad } from './load/run-load.ts';
import { benchCommand } from './options.ts';
import { startProgram } from './process/program.ts';
import { describeSetting } from './report/setting.ts';
import { show, spread } from './report/statistics.ts';
import { writeReport } from './report/write.ts';
import { prepare } from './session.ts';

const options = benchCommand(
  'bench:standby',
  'What a synchronous standby costs: callbacks acknowledged at full load, and response times at a fixed rate',
  { rounds: 7, seconds: 3, rate: 200, connections: 64 },
)
  .option('--full', 'also at full load, which needs a machine without other load')
  .parse()
  .opts<{
    rounds: number;
    seconds: number;
    rate: number;
    connections: number;
    results: string;
    full?: true;
  }>();

const kinds = ['no standby', 'asynchronous standby', 'synchronous standby'] as const;

await prepare();
const alone = await startPrimary();
const primary = await startPrimary();
const standby = await startStandby(primary);
const receiverOn = async (databaseUrl: string) => {
  await oursEmbedded.prepare!({ databaseUrl, redisUrl: '' });
  const { command, env } = oursEmbedded.receiver;
  return startProgram(command, env({ databaseUrl, redisUrl: '' }));
};
const receivers = [await receiverOn(alone.url), await receiverOn(primary.url)] as const;

const [{ version }] = (await alone.rows(`select current_setting('server_version') as version`)) as [
  { version: string },
];
const rounds: { full: LoadFigures | undefined; paced: LoadFigures }[][] = [];
try {
  for (let round = 0; round < options.rounds; round += 1) {
    process.stderr.write(`round ${round + 1} of ${options.rounds}\n`);
    const figures: (typeof rounds)[number] = [];
    for (const [index, kind] of kinds.entries()) {
      if (kind !== 'no standby') await setSynchronous(primary, kind === 'synchronous standby');
      const { url } = kind === 'no standby' ? receivers[0] : receivers[1];
      const { connections, seconds, rate } = options;
      const { signingKey } = oursEmbedded;
      const order = { url, path: receiptsPath, connections, seconds, warmup: 1, signingKey };
      const seed = round * 100 + index * 10;
      figures.push({
        full: options.full && (await runLoad({ ...order, rate: undefined, seed })),
        paced: await runLoad({ ...order, rate, seed: seed + 1 }),
      });
    }
    rounds.push(figures);
  }
} finally {
  for (const receiver of receivers) await receiver.stop();
  await standby.stop();
  await primary.stop();
  await alone.stop();
}

const row = (
  name: string,
  of: (figures: (typeof rounds)[number][number]) => number | undefined,
  digits: number,
) => [name, ...kinds.map((_, index) => show(spread(rounds.map((figures) => of(figures[index]!))), digits))];
const setting = describeSetting({ postgres: version });
const file = writeReport(options.results, {
  name: `standby-${setting.date}-${setting.commit!.split(' ')[0]}`,
  setting: {
    ...setting,
    load: `${options.rounds} rounds, ${options.seconds} s each; primary, standby, receiver and load on this machine`,
  },
  tables: [
    [
      ['', ...kinds],
      ...(options.full
        ? [
            row('acknowledged/s at full load', ({ full }) => full?.perSecond, 0),
            row('p50, ms, at full load', ({ full }) => full?.p50, 1),
            row('p99, ms, at full load', ({ full }) => full?.p99, 1),
          ]
        : []),
      row(`p50, ms, at ${options.rate}/s`, ({ paced }) => paced.p50, 1),
      row(`p99, ms, at ${options.rate}/s`, ({ paced }) => paced.p99, 1),
    ],
  ],
});
process.stderr.write(`written to ${file}\n`);

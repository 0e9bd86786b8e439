import { Command } from 'commander';
import { others, receiverOf } from './contenders.ts';
import type { LoadFigures } from './load.ts';
import { Bench, type Burst, type Running } from './measure.ts';
import { startStores } from './stores.ts';

interface Options {
  rounds: number;
  seconds: number;
  connections: number;
  against?: string;
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const options = new Command('npm run bench --')
  .description(
    'Measures the receiver beside others on the same machine, in alternating bursts. Only the ratios can be compared.',
  )
  .option('--rounds <number>', 'rounds, each with a burst of all', Number, 12)
  .option('--seconds <number>', 'seconds of a burst', Number, 3)
  .option('--connections <number>', 'connections of the load', Number, 64)
  .option(
    '--against <folder>',
    'compare with the receiver that is built in this folder, and with nothing else',
  )
  .parse()
  .opts<Options>();

const contenders = [
  receiverOf('receiver', '.'),
  ...(options.against ? [receiverOf('the other', options.against)] : others),
];
const columns: Record<keyof Burst, string> = {
  acknowledged: 'acknowledged/s',
  applied: 'applied/s',
  p50: 'p50 ms',
  p99: 'p99 ms',
  receiver: 'µs receiver',
  worker: 'µs worker',
  postgres: 'µs PostgreSQL',
  wal: 'WAL bytes',
  disk: 'disk bytes',
};
const figures = Object.keys(columns) as (keyof Burst)[];

const paces = 5;
const stores = await startStores();
const bench = new Bench(stores, options.connections);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stop().then(() => process.exit(1)));
try {
  const running: Running[] = [];
  for (const contender of contenders) running.push(await bench.start(contender));
  const bursts: Burst[][] = contenders.map(() => []);
  for (let round = 0; round < options.rounds; round += 1) {
    // Each round begins with another one.
    const order = contenders.map((_, index) => (index + round) % contenders.length);
    for (const index of order) bursts[index]!.push(await running[index]!.burst(options.seconds));
    say(`round ${round + 1} of ${options.rounds}`);
  }
  say('\nThe mean of a burst; CPU and bytes per callback:');
  print(bursts, (values) => number(mean(values)));
  say('\nThe receiver to the others, with the interval of 95 %:');
  print(bursts.slice(1), (values, figure) => {
    const ratios = values.map((value, round) => bursts[0]![round]![figure]! / value);
    return `${mean(ratios).toFixed(2)} ±${margin(ratios).toFixed(2)}`;
  });
  const half = mean(bursts[0]!.map(({ acknowledged }) => acknowledged)) / 2;
  say(`\nAt half of its load, ${number(half)}/s, the middle of ${paces} times:`);
  const durable = running.filter(({ contender }) => contender.paced);
  const paced: LoadFigures[][] = durable.map(() => []);
  for (let n = 0; n < paces; n += 1)
    for (const [index, { pace }] of durable.entries()) paced[index]!.push(await pace(Math.round(half), 5));
  for (const [index, { contender }] of durable.entries()) {
    const middle = (name: 'p50' | 'p99') =>
      number(paced[index]!.map((figures) => figures[name]).toSorted((a, b) => a - b)[paces >> 1]!);
    say(`${contender.name}: p50 ${middle('p50')} ms, p99 ${middle('p99')} ms`);
  }
  const alone = await running[0]!.sendAlone(200);
  const at = (share: number) => number(alone[Math.floor(alone.length * share)]!);
  say(`A lone callback until its row: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`);
} finally {
  await stop();
}

async function stop(): Promise<void> {
  bench.stop();
  await stores.stop();
}

/** A line for each of the last contenders. */
function print(bursts: Burst[][], cellOf: (values: number[], figure: keyof Burst) => string): void {
  const lines = bursts.map((all, index) => [
    contenders.at(index - bursts.length)!.name,
    ...figures.map((figure) => {
      const values = all.map((burst) => burst[figure] ?? Number.NaN);
      // What stores nothing has the bytes of the server's own work.
      const isMeasured = mean(values) > (figure === 'wal' || figure === 'disk' ? 100 : 0);
      return isMeasured ? cellOf(values, figure) : '–';
    }),
  ]);
  const table = [['', ...figures.map((figure) => columns[figure])], ...lines];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((line) => line[column]!.length)));
  for (const [first, ...rest] of table)
    say([first!.padEnd(widths[0]!), ...rest.map((text, n) => text.padStart(widths[n + 1]!))].join('  '));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function margin(values: number[]): number {
  const variance = values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1);
  return 2 * Math.sqrt(variance / values.length);
}

function number(value: number): string {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}

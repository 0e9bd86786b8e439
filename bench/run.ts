import { Command } from 'commander';
import { others, receiverOf } from './contenders.ts';
import { Bench, type BenchOptions, type Measurement } from './measure.ts';
import { startStores } from './stores.ts';

interface Options extends BenchOptions {
  against?: string;
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const options = new Command('npm run bench --')
  .description(
    'Measures the receiver beside others on the same machine, in turns. Only the ratios can be compared.',
  )
  .option('--rounds <number>', 'rounds, each with all', Number, 3)
  .option('--seconds <number>', 'seconds of each load', Number, 2)
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
const figures = {
  acknowledged: 'acknowledged/s',
  applied: 'applied/s',
  wal: 'WAL bytes',
  disk: 'disk bytes',
};
const latencies = { p50: 'p50 ms', p99: 'p99 ms' };
const columns = { ...figures, ...latencies };
type Figure = keyof typeof columns;

const rounds: Measurement[][] = contenders.map(() => []);
const stores = await startStores();
const bench = new Bench(stores, options);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stop().then(() => process.exit(1)));
try {
  for (const [index, contender] of contenders.entries())
    await contender.prepare(await stores.fresh(`template_${index}`), stores);
  for (let round = 0; round < options.rounds; round += 1) {
    // Each round begins with another one.
    const order = contenders.map((_, index) => (index + round) % contenders.length);
    for (const index of order)
      rounds[index]!.push(await bench.measure(contenders[index]!, 'bench', `template_${index}`));
    say(`\nround ${round + 1}`);
    printTable((index) => rounds[index]![round]!);
  }
  say('\nall rounds: the mean, and in brackets the ratio of the receiver to the row (median of the rounds)');
  printTable(
    (index) => meanOf(rounds[index]!),
    (index, figure) => medianRatio(index, figure),
  );
} finally {
  await stop();
}

async function stop(): Promise<void> {
  bench.stop();
  await stores.stop();
}

/** A line for each contender. The ratio is that of the receiver, the first, to the contender. */
function printTable(
  row: (contender: number) => Measurement,
  ratioOf = (contender: number, figure: Figure) => ratio(row(0)[figure], row(contender)[figure]),
): void {
  const names = Object.keys(columns) as Figure[];
  const lines = [
    ['', ...names.map((name) => columns[name])],
    ...contenders.map(({ name }, index) => [
      name,
      ...names.map((figure) => cell(row(index)[figure], index === 0 ? undefined : ratioOf(index, figure))),
    ]),
  ];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  for (const [first, ...rest] of lines)
    say(
      [first!.padEnd(widths[0]!), ...rest.map((text, column) => text.padStart(widths[column + 1]!))].join(
        '  ',
      ),
    );
}

function cell(value: number | undefined, ratio: number | undefined): string {
  if (value === undefined) return '–';
  const text = value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
  return ratio === undefined ? text : `${text} (${ratio.toFixed(2)})`;
}

function meanOf(measurements: Measurement[]): Measurement {
  const mean = (figure: Figure) =>
    measurements.reduce((sum, measurement) => sum + (measurement[figure] ?? Number.NaN), 0) /
    measurements.length;
  const all = (Object.keys(columns) as Figure[]).map((figure) => [figure, mean(figure)] as const);
  return Object.fromEntries(all.filter(([, value]) => !Number.isNaN(value))) as unknown as Measurement;
}

function medianRatio(contender: number, figure: Figure): number | undefined {
  const all = rounds[contender]!.map((other, round) => ratio(rounds[0]![round]![figure], other[figure]));
  return all.toSorted((a, b) => a! - b!)[Math.floor(all.length / 2)];
}

function ratio(ours: number | undefined, theirs: number | undefined): number | undefined {
  return ours === undefined || theirs === undefined ? undefined : ours / theirs;
}

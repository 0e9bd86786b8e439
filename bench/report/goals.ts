import { ours } from '../contenders/index.ts';
import { type Measurement, sum } from '../measure.ts';
import type { Rounds } from '../rounds.ts';
import { type Spread, show, spread } from './statistics.ts';

interface Goal {
  title: string;
  /** Its value in a round. */
  of: (round: (name: string) => Measurement) => number | undefined;
  /** Without either it is only shown. */
  least?: number;
  most?: number;
}

const applied = (name: string, other: string, least: number): Goal => ({
  title: `rows applied/s, ${name} ÷ ${other}`,
  of: (round) => ratio(round(name).appliedPerSecond, round(other).appliedPerSecond),
  least,
});

const alone = (name: string, other: string, least: number): Goal => ({
  title: `acknowledged/s, receiver alone, ${name} ÷ ${other}`,
  of: (round) => ratio(round(name).alone.perSecond, round(other).alone.perSecond),
  least,
});

const goals: Goal[] = [
  applied('ours-redis', 'one-by-one-tuned', 4),
  applied('ours-redis', 'one-by-one-default', 7),
  {
    title: 'rows applied/s, ours-redis ÷ the better of pg-boss and graphile-worker',
    of: (round) => {
      const [boss, graphile] = [round('pg-boss').appliedPerSecond, round('graphile-worker').appliedPerSecond];
      return ratio(round('ours-redis').appliedPerSecond, Math.max(boss!, graphile!));
    },
    least: 3,
  },
  applied('ours-embedded', 'one-by-one-tuned', 3.5),
  applied('ours-embedded', 'one-by-one-default', 5.5),
  ...ours.flatMap((name): Goal[] => {
    const former = name.replace('ours', 'former');
    return [
      alone(name, 'bare-express', 2.2),
      alone(name, 'bare-http', 0.38),
      {
        title: `acknowledged/s, with the worker, ${name}: in the warm-up after a start ÷ later`,
        of: (round) => ratio(round(name).firstPerSecond, round(name).both?.perSecond),
        least: 0.8,
      },
      {
        title: `CPU s per 10,000, all processes, ${name}`,
        of: (round) => sum(round(name).cpu),
        most: 1.5,
      },
      {
        title: `CPU, all processes, ${name} ÷ ${former}`,
        of: (round) => ratio(sum(round(name).cpu), sum(round(former).cpu)),
      },
      { title: `WAL bytes per delivery, ${name}`, of: (round) => round(name).storage?.wal, most: 2600 },
      { title: `disk bytes per delivery, ${name}`, of: (round) => round(name).storage?.disk, most: 2000 },
      { title: `dead tuples, table of deliveries, ${name}`, of: (round) => round(name).deadTuples, most: 0 },
      {
        title: `p99 at half load, ${name} ÷ bare-http at the same rate`,
        of: (round) => ratio(round(name).half.p99, round('bare-http').at[name]?.p99),
        most: 5,
      },
      {
        title: `lone delivery, POST to row, p50, ${name} ÷ ${former}`,
        of: (round) => ratio(round(name).loneMs, round(former).loneMs),
        most: 0.8,
      },
      {
        title: `memory of the receiver, ${name}, MiB`,
        of: (round) => round(name).memory.receiver,
        most: 150,
      },
      { title: `memory of the worker, ${name}, MiB`, of: (round) => round(name).memory.worker, most: 150 },
      {
        title: `start to ready, receiver, ${name}, s`,
        of: (round) => round(name).readyMs.receiver / 1000,
        most: 1,
      },
      {
        title: `start to ready, worker, ${name}, s`,
        of: (round) => (round(name).readyMs.worker ?? Number.NaN) / 1000,
        most: 1,
      },
    ];
  }),
];

/** A row per goal whose contenders were measured: median and range of the rounds' ratios. */
export function goalsTable(rounds: Rounds): string[][] {
  const count = Math.max(0, ...Object.values(rounds).map((measured) => measured.length));
  const rows = goals.flatMap((goal) => {
    const values = Array.from({ length: count }, (_, index) => valueIn(goal, rounds, index));
    const reached = spread(values);
    return reached ? [[goal.title, show(reached, 2), wanted(goal), verdict(goal, reached)]] : [];
  });
  return [['', 'measured', 'goal', ''], ...rows];
}

function valueIn(goal: Goal, rounds: Rounds, index: number): number | undefined {
  let missing = false;
  const value = goal.of((name) => {
    const measured = rounds[name]?.[index];
    if (measured) return measured;
    missing = true;
    return absent;
  });
  return missing ? undefined : value;
}

// The placeholder of a contender that was not measured: every property exists.
const absent: Measurement = new Proxy(() => {}, { get: () => absent }) as never;

function wanted({ least, most }: Goal): string {
  if (least !== undefined) return `at least ${least}`;
  return most === undefined ? '' : `at most ${most}`;
}

function verdict({ least, most }: Goal, { median }: Spread): string {
  if (least === undefined && most === undefined) return '';
  return median >= (least ?? -Infinity) && median <= (most ?? Infinity) ? 'met' : 'missed';
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}

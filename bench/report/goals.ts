import type { Measurement } from '../measure.ts';
import type { Rounds } from '../rounds.ts';
import { type Spread, show, spread } from './statistics.ts';

interface Goal {
  title: string;
  /** Its value in a round. */
  of: (round: (name: string) => Measurement) => number | undefined;
  least?: number;
  most?: number;
}

const ours = ['ours-redis', 'ours-embedded'];
const applied = (name: string, other: string, least: number): Goal => ({
  title: `rows applied/s, ${name} ÷ ${other}`,
  of: (round) => ratio(round(name).appliedPerSecond, round(other).appliedPerSecond),
  least,
});

const goals: Goal[] = [
  applied('ours-redis', 'one-by-one-tuned', 4),
  applied('ours-redis', 'one-by-one-default', 7),
  applied('ours-embedded', 'one-by-one-tuned', 3),
  applied('ours-embedded', 'one-by-one-default', 5),
  applied('ours-redis', 'ours-unreported', 0.9),
  {
    title: 'acknowledged/s, receiver alone, ours-redis ÷ ours-unreported',
    of: (round) => ratio(round('ours-redis').alone.perSecond, round('ours-unreported').alone.perSecond),
    least: 0.9,
  },
  ...ours.flatMap((name): Goal[] => [
    ...[
      { other: 'bare-express', least: 1.5 },
      { other: 'bare-http', least: 0.35 },
    ].map(({ other, least }) => ({
      title: `acknowledged/s, receiver alone, ${name} ÷ ${other}`,
      of: (round: (name: string) => Measurement) =>
        ratio(round(name).alone.perSecond, round(other).alone.perSecond),
      least,
    })),
    {
      title: `p99 at half load, ${name} ÷ bare-http at the same rate`,
      of: (round) => ratio(round(name).half.p99, round('bare-http').at[name]?.p99),
      most: 3,
    },
    { title: `memory of the receiver, ${name}, MiB`, of: (round) => round(name).memory.receiver, most: 150 },
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
  ]),
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

const wanted = ({ least, most }: Goal) => (least === undefined ? `at most ${most}` : `at least ${least}`);

function verdict({ least = -Infinity, most = Infinity }: Goal, { median }: Spread): string {
  return median >= least && median <= most ? 'met' : 'missed';
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}

import type { Contender } from '../contenders/contender.ts';
import { type Measurement, type PerProcess, sum } from '../measure.ts';
import type { Rounds } from '../rounds.ts';
import { show, spread } from './statistics.ts';

type Figure = [title: string, of: (m: Measurement) => number | undefined, digits?: number];

const perProcess = (title: string, of: (m: Measurement) => PerProcess, digits: number): Figure[] =>
  (['receiver', 'worker', 'postgres', 'redis'] as const).map((name) => [
    `${title}: ${{ receiver: 'receiver', worker: 'worker', postgres: 'PostgreSQL', redis: 'Redis' }[name]}`,
    (m) => of(m)[name] || undefined,
    digits,
  ]);

const figures: Figure[] = [
  ['acknowledged/s, receiver alone', (m) => m.alone.perSecond],
  ['p50 ms', (m) => m.alone.p50, 1],
  ['p99 ms', (m) => m.alone.p99, 1],
  ['p50 ms at half load', (m) => m.half.p50, 2],
  ['p99 ms at half load', (m) => m.half.p99, 2],
  ['acknowledged/s, with the worker', (m) => m.both?.perSecond],
  ['acknowledged/s, with the worker, in the warm-up after a start', (m) => m.firstPerSecond],
  ['p50 ms, with the worker', (m) => m.both?.p50, 1],
  ['p99 ms, with the worker', (m) => m.both?.p99, 1],
  ['rows applied/s', (m) => m.appliedPerSecond],
  ...perProcess('CPU s per 10,000', (m) => m.cpu, 2),
  ['CPU s per 10,000: together', (m) => sum(m.cpu), 2],
  ['WAL bytes per delivery', (m) => m.storage?.wal],
  ['disk bytes per delivery', (m) => m.storage?.disk],
  ['dead tuples in the table of deliveries', (m) => m.deadTuples],
  ['lone delivery, POST to row, worker idle: p50 ms', (m) => m.loneMs, 1],
  ...perProcess('memory MiB', (m) => m.memory, 0),
  ['start to ready ms, receiver', (m) => m.readyMs.receiver],
  ['start to ready ms, worker', (m) => m.readyMs.worker],
  ['CPU of the load, share of a core', (m) => m.alone.cpu, 2],
  ['CPU of others, share of a core', (m) => m.others, 2],
];

/** A row per figure and a column per contender: median and range of the rounds. */
export function figuresTable(contenders: readonly Contender[], rounds: Rounds): string[][] {
  const rows = figures.map(([title, of, digits]) => [
    title,
    ...contenders.map(({ name }) => show(spread(rounds[name]!.map(of)), digits)),
  ]);
  return [
    ['', ...contenders.map(({ title }) => title)],
    ...rows.filter(([, ...cells]) => cells.some((cell) => cell !== '–')),
  ];
}

import { createLog } from '../../src/common/log.ts';

type Line = Record<string, unknown> & { msg: string; counts?: { count: number }[] };

let lines: Line[];
const open = (level = 'info') => {
  lines = [];
  return createLog(level, { write: (line: string) => lines.push(JSON.parse(line) as Line) });
};
beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});
const shown = () => lines.map(({ msg, reason, counts }) => (counts ? counts : [msg, reason]));

it('the first line of a kind is written in full, the others are counts, in one line a minute', () => {
  const log = open();
  for (const reason of ['a', 'b', 'a', 'a']) log.limited('info', { reason }, 'rejected', { delivery: 1 });
  for (let i = 0; i < 8; i += 1) log.limited('warn', {}, 'full');
  expect(shown()).toEqual([
    ['rejected', 'a'],
    ['rejected', 'b'],
    ['full', undefined],
  ]);
  expect(lines[0]).toMatchObject({ level: 30, reason: 'a', delivery: 1 });
  jest.advanceTimersByTime(60_000);
  expect(shown().slice(3)).toEqual([
    [
      { message: 'rejected', reason: 'a', count: 2 },
      { message: 'full', count: 7 },
    ],
  ]);
  expect(lines[3]!.level).toBe(40);
  jest.advanceTimersByTime(600_000);
  expect(lines).toHaveLength(4);
});

it('each minute a kind is written in full again', () => {
  const log = open();
  for (const _ of [1, 2]) {
    for (const reason of ['a', 'a', 'b']) log.limited('info', { reason }, 'rejected');
    jest.advanceTimersByTime(60_000);
  }
  const minute = [['rejected', 'a'], ['rejected', 'b'], [{ message: 'rejected', reason: 'a', count: 1 }]];
  expect(shown()).toEqual([...minute, ...minute]);
});

it('nothing is counted of a level that is not written', () => {
  const log = open('warn');
  for (let i = 0; i < 3; i += 1) log.limited('info', {}, 'rejected');
  log.writeCounts();
  expect(lines).toEqual([]);
});

it('children count together with their log, and write as themselves', () => {
  const log = open();
  const child = log.child({ trace: 1 }) as typeof log;
  child.limited('info', {}, 'rejected');
  log.limited('info', {}, 'rejected');
  log.writeCounts();
  expect(lines[0]).toMatchObject({ trace: 1 });
  expect(shown()[1]).toEqual([{ message: 'rejected', count: 1 }]);
});

it('kinds without end are counted by their message', () => {
  const log = open();
  for (let reason = 0; reason < 2_000; reason += 1) log.limited('info', { reason }, 'rejected');
  expect(lines.length).toBeLessThanOrEqual(501);
  log.writeCounts();
  expect(lines.at(-1)!.counts).toEqual([{ message: 'rejected', count: 2_000 - (lines.length - 1) }]);
});

import fc from 'fast-check';
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
  log.limited('warn', {}, 'full', { count: 5 }, 5);
  log.limited('warn', {}, 'full', { count: 7 }, 7);
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

it('a kind that was silent for a minute is written in full again, one such kind a second', () => {
  const log = open();
  const all = () => {
    for (const reason of ['a', 'b', 'c']) log.limited('info', { reason }, 'rejected');
  };
  all();
  jest.advanceTimersByTime(60_000);
  all();
  expect(shown().slice(3)).toEqual([['rejected', 'a']]);
  jest.advanceTimersByTime(30_000);
  all();
  expect(lines).toHaveLength(4);
  log.writeCounts();
  expect(shown().at(-1)).toEqual([
    { message: 'rejected', reason: 'a', count: 1 },
    { message: 'rejected', reason: 'b', count: 2 },
    { message: 'rejected', reason: 'c', count: 2 },
  ]);
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

it('whatever happens when, there are at most as many lines as seconds and kinds, and nothing is lost', () => {
  const event = fc.tuple(fc.nat(20_000), fc.integer({ min: 0, max: 2_000 }));
  fc.assert(
    fc.property(fc.array(event, { maxLength: 300 }), (events) => {
      const log = open();
      let ms = 0;
      for (const [pause, kind] of events) {
        ms += pause;
        jest.advanceTimersByTime(pause);
        log.limited('info', { kind: kind % 3 === 0 ? kind : 1 }, 'rejected');
      }
      log.writeCounts();
      const kinds = new Set(lines.filter(({ counts }) => !counts).map(({ kind }) => kind));
      expect(lines.length).toBeLessThanOrEqual(ms / 1000 + kinds.size + 1);
      const counted = lines.flatMap(({ counts }) => counts ?? []).reduce((sum, { count }) => sum + count, 0);
      expect(counted + lines.filter(({ counts }) => !counts).length).toBe(events.length);
    }),
    { numRuns: 50 },
  );
});

it('kinds without end are counted by their message', () => {
  const log = open();
  for (let reason = 0; reason < 2_000; reason += 1) log.limited('info', { reason }, 'rejected');
  expect(lines.length).toBeLessThanOrEqual(501);
  log.writeCounts();
  expect(lines.at(-1)!.counts).toEqual([{ message: 'rejected', count: 2_000 - (lines.length - 1) }]);
});

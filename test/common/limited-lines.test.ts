import { createLog } from '../../src/common/log.ts';

type Line = Record<string, unknown> & { msg: string };

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
const shown = () => lines.map(({ msg, reason }) => [msg, reason]);

it('the first line of a kind is written in full, the others of a minute are not', () => {
  const log = open();
  for (const reason of ['a', 'b', 'a', 'a']) log.limited('info', { reason }, 'rejected', { delivery: 1 });
  for (let i = 0; i < 8; i += 1) log.limited('warn', {}, 'full');
  const minute = [
    ['rejected', 'a'],
    ['rejected', 'b'],
    ['full', undefined],
  ];
  expect(shown()).toEqual(minute);
  expect(lines[0]).toMatchObject({ level: 30, reason: 'a', delivery: 1 });
  jest.advanceTimersByTime(60_000);
  for (const reason of ['a', 'b']) log.limited('info', { reason }, 'rejected');
  log.limited('warn', {}, 'full');
  expect(shown()).toEqual([...minute, ...minute]);
});

it('a level that is not written is none', () => {
  open('warn').limited('info', {}, 'rejected');
  expect(lines).toEqual([]);
});

it('children are limited together with their log, and write as themselves', () => {
  const log = open();
  const child = log.child({ trace: 1 }) as typeof log;
  child.limited('info', {}, 'rejected');
  log.limited('info', {}, 'rejected');
  expect(lines).toEqual([expect.objectContaining({ trace: 1 })]);
});

it('kinds without end write 500 lines a minute', () => {
  const log = open();
  for (let reason = 0; reason < 2_000; reason += 1) log.limited('info', { reason }, 'rejected');
  expect(lines).toHaveLength(500);
});

import { readOptions } from '../../bench/options.ts';
import { goalsTable } from '../../bench/report/goals.ts';

const cost = { receiver: 0.5, worker: 0.25, postgres: 0.5, redis: 0.25 };
const unmeasured = { alone: {}, half: {}, at: {}, cpu: cost, memory: {}, readyMs: {} };
const measured = (figures: object) => [{ ...unmeasured, ...figures } as never];
const names = (...argv: string[]) => readOptions(argv).contenders.map(({ name }) => name);
const goal = (rounds: Record<string, never[]>, title: string) =>
  goalsTable(rounds).find(([name]) => name === title);

it('compares with the better of the two other queues', () => {
  const rounds = {
    'ours-redis': measured({ appliedPerSecond: 6000 }),
    'pg-boss': measured({ appliedPerSecond: 1000 }),
    'graphile-worker': measured({ appliedPerSecond: 1500 }),
  };
  const title = 'rows applied/s, ours-redis ÷ the better of pg-boss and graphile-worker';
  expect(goal(rounds, title)).toEqual([title, '4.00', 'at least 3', 'met']);
});

it('leaves out a goal whose contender was not measured', () => {
  const titles = goalsTable({ 'ours-redis': measured({}) }).map(([title]) => title);
  expect(titles.filter((title) => /pg-boss|former|bare|one-by-one|embedded/.test(title!))).toEqual([]);
});

it('adds the CPU of all processes, and shows it beside that of the former version', () => {
  const twice = { receiver: 1, worker: 0.5, postgres: 1, redis: 0.5 };
  const rounds = { 'ours-redis': measured({}), 'former-redis': measured({ cpu: twice }) };
  const together = 'CPU s per 10,000, all processes, ours-redis';
  expect(goal(rounds, together)).toEqual([together, '1.50', 'at most 1.5', 'met']);
  const relative = 'CPU, all processes, ours-redis ÷ former-redis';
  expect(goal(rounds, relative)).toEqual([relative, '0.50', '', '']);
});

it('measures what only the reports cost when it is asked for', () => {
  expect(names()).not.toContain('ours-unreported');
  expect(names('--only', 'ours-unreported')).toEqual(['ours-unreported']);
});

it('measures another version of this service when its folder is given', () => {
  expect(names()).not.toContain('former-redis');
  expect(names('--against', '/former')).toEqual(
    expect.arrayContaining(['former-redis', 'former-embedded', 'bare-http']),
  );
  expect(names('--against', '/former', '--only', 'bare-http,former-redis')).toEqual([
    'former-redis',
    'bare-http',
  ]);
});

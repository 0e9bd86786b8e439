import { appendFileSync } from 'node:fs';
import { type Fault, failover, faults, fullDisk } from './faults.ts';
import { mayMount, mountSmallDisk } from './small-disk.ts';
import { type Backend, type Stage, setStage } from './stage.ts';
import { type Outcome, storm } from './storm.ts';

// `npm run chaos` gives the minutes; without them each fault gets one short storm.
const minutes = Number(process.env.CHAOS_MINUTES ?? 0);
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 100_000);
const backends = (process.env.CHAOS_BACKEND ?? 'redis,postgresql').split(',') as Backend[];

// Producers stop at 1,000, which each counts once a second.
const mostJobs = 1_200;
const mostLogLines = 1_000;

jest.setTimeout(120_000 + minutes * 60_000);

describe.each(backends)(`on %s (seed ${seed})`, (backend) => {
  const struck = faults.filter((fault) => fault.backends.includes(backend));
  const seconds = minutes > 0 ? (minutes * 60) / (struck.length + 2) : 2;
  const options = {
    seconds,
    rate: minutes > 0 ? 400 : 150,
    strikes: minutes > 0 ? Math.ceil(seconds / 15) : 1,
  };
  const outcomes: Outcome[] = [];
  let stage: Stage;
  beforeAll(async () => {
    stage = await setStage(backend);
  });
  afterAll(async () => {
    if (minutes > 0) report(backend, outcomes);
    await stage.stop();
  });

  const promise = 'nothing acknowledged is lost, nothing is applied twice, nothing is made up';
  const holds = async (fault: Fault, where: Stage, strikes = options.strikes) => {
    const outcome = await storm(where, fault, { ...options, strikes, seed: seed + outcomes.length });
    outcomes.push(outcome);
    if (minutes > 0 || process.env.CHAOS_TRACE) process.stderr.write(`${JSON.stringify(outcome)}\n`);
    expect(outcome).toMatchObject({ lost: 0, wrong: 0, invented: 0, waiting: 0, failed: 0 });
    expect(outcome.acknowledged).toBeGreaterThan(seconds * 10);
    expect(outcome.jobs).toBeLessThan(mostJobs);
    expect(outcome.logLines).toBeLessThan(100 * options.strikes);
  };

  it.each(struck)(`$name: ${promise}`, (fault) => holds(fault, stage));

  it(`${failover.name}: ${promise}`, async () => {
    const replicated = await setStage(backend, { standby: true });
    await holds(failover, replicated, 1).finally(replicated.stop);
  });

  // Only who may mount a disk has one to fill.
  if (mayMount()) {
    it(`${fullDisk.name}: ${promise}`, async () => {
      const disk = mountSmallDisk(640);
      const small = await setStage(backend, { folder: disk.folder });
      await holds(fullDisk, small).finally(() => small.stop().then(disk.unmount));
    });
  }

  it(`all of them together leave fewer than ${mostLogLines} lines in the logs`, () => {
    expect(outcomes.reduce((sum, { logLines }) => sum + logLines, 0)).toBeLessThan(mostLogLines);
  });
});

function report(backend: Backend, outcomes: readonly Outcome[]): void {
  const sum = (name: 'acknowledged' | 'logLines') =>
    outcomes.reduce((all, outcome) => all + outcome[name], 0);
  const totals = `${sum('acknowledged')} acknowledged, ${sum('logLines')} log lines`;
  const lines = [
    `\n## ${backend}, ${minutes} minutes, seed ${seed}: ${totals}\n`,
    '| fault | acknowledged | refused | slowest answer, ms | lost | wrong or repeated | made up | jobs | log lines | s until caught up |',
    '|---|---:|---|---:|---:|---:|---:|---:|---:|---:|',
    ...outcomes.map(
      (o) =>
        `| ${o.fault} | ${o.acknowledged} | ${o.refusals || '–'} | ${o.slowestMs} | ${o.lost} | ${o.wrong} | ${o.invented} | ${o.jobs} | ${o.logLines} | ${o.secondsUntilCaughtUp.toFixed(1)} |`,
    ),
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  if (process.env.CHAOS_REPORT) appendFileSync(process.env.CHAOS_REPORT, `${lines.join('\n')}\n`);
}

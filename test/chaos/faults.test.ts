import { appendFileSync } from 'node:fs';
import { type Backend, type Deployment, startDeployment } from './deployment.ts';
import { type Fault, failover, faults, fullDisk } from './faults.ts';
import { type Outcome, runFault } from './run-fault.ts';
import { mayMount, mountSmallDisk } from './small-disk.ts';

// `npm run chaos` sets the minutes; without them each fault is injected once, briefly.
const minutes = Number(process.env.CHAOS_MINUTES ?? 0);
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 100_000);
const backends = (process.env.CHAOS_BACKEND ?? 'redis,postgresql').split(',') as Backend[];

// Producers stop at about 1,000: each counts once a second.
const mostJobs = 1_200;
const mostLogLines = 1_000;

jest.setTimeout(120_000 + minutes * 60_000);

describe.each(backends)(`on %s (seed ${seed})`, (backend) => {
  const applicable = faults.filter((fault) => fault.backends.includes(backend));
  const seconds = minutes > 0 ? (minutes * 60) / (applicable.length + 2) : 2;
  const options = {
    seconds,
    rate: minutes > 0 ? 400 : 150,
    injections: minutes > 0 ? Math.ceil(seconds / 15) : 1,
  };
  const outcomes: Outcome[] = [];
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment(backend);
  });
  afterAll(async () => {
    if (minutes > 0) report(backend, outcomes);
    await deployment.stop();
  });

  const promise =
    'no acknowledged delivery is lost, none is invented, and each row is the newest version of its record';
  const expectNoLoss = async (fault: Fault, target: Deployment, injections = options.injections) => {
    const outcome = await runFault(target, fault, { ...options, injections, seed: seed + outcomes.length });
    outcomes.push(outcome);
    if (minutes > 0 || process.env.CHAOS_TRACE) process.stderr.write(`${JSON.stringify(outcome)}\n`);
    expect(outcome).toMatchObject({ lost: 0, wrong: 0, invented: 0, waiting: 0, failed: 0 });
    expect(outcome.acknowledged).toBeGreaterThan(seconds * 10);
    expect(outcome.jobs).toBeLessThan(mostJobs);
    expect(outcome.logLines).toBeLessThan(100 * options.injections);
  };

  it.each(applicable)(`$name: ${promise}`, (fault) => expectNoLoss(fault, deployment));

  it(`${failover.name}: ${promise}`, async () => {
    const replicated = await startDeployment(backend, { standby: true });
    await expectNoLoss(failover, replicated, 1).finally(replicated.stop);
  });

  // Needs permission to mount a disk.
  if (mayMount()) {
    it(`${fullDisk.name}: ${promise}`, async () => {
      const disk = mountSmallDisk(640);
      const small = await startDeployment(backend, { folder: disk.folder });
      await expectNoLoss(fullDisk, small).finally(() => small.stop().then(disk.unmount));
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
    '| fault | acknowledged | rejected | slowest response, ms | lost | wrong or repeated | invented | jobs | log lines | s until caught up |',
    '|---|---:|---|---:|---:|---:|---:|---:|---:|---:|',
    ...outcomes.map(
      (o) =>
        `| ${o.fault} | ${o.acknowledged} | ${o.rejections || '–'} | ${o.slowestMs} | ${o.lost} | ${o.wrong} | ${o.invented} | ${o.jobs} | ${o.logLines} | ${o.secondsUntilCaughtUp.toFixed(1)} |`,
    ),
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  if (process.env.CHAOS_REPORT) appendFileSync(process.env.CHAOS_REPORT, `${lines.join('\n')}\n`);
}

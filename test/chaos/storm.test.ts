import { appendFileSync } from 'node:fs';
import { type Fault, faults, fullDisk } from './faults.ts';
import { mayMount, mountSmallDisk } from './small-disk.ts';
import { type Backend, type Stage, setStage } from './stage.ts';
import { type Outcome, storm } from './storm.ts';

// `npm run chaos` gives the minutes; without them each fault gets one short storm.
const minutes = Number(process.env.CHAOS_MINUTES ?? 0);
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 100_000);
const backends = (process.env.CHAOS_BACKEND ?? 'redis,postgresql').split(',') as Backend[];

jest.setTimeout(120_000 + minutes * 60_000);

describe.each(backends)(`on %s (seed ${seed})`, (backend) => {
  const struck = faults.filter((fault) => fault.backends.includes(backend));
  const seconds = minutes > 0 ? (minutes * 60) / (struck.length + 1) : 2;
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
  const holds = async (fault: Fault, where: Stage) => {
    const outcome = await storm(where, fault, { ...options, seed: seed + outcomes.length });
    outcomes.push(outcome);
    if (minutes > 0) process.stderr.write(`${JSON.stringify(outcome)}\n`);
    expect(outcome).toMatchObject({ lost: 0, wrong: 0, invented: 0 });
    expect(outcome.acknowledged).toBeGreaterThan(seconds * 10);
  };

  it.each(struck)(`$name: ${promise}`, (fault) => holds(fault, stage));

  // Only who may mount a disk has one to fill.
  if (mayMount()) {
    it(`${fullDisk.name}: ${promise}`, async () => {
      const disk = mountSmallDisk(640);
      const small = await setStage(backend, { folder: disk.folder });
      await holds(fullDisk, small).finally(() => small.stop().then(disk.unmount));
    });
  }
});

function report(backend: Backend, outcomes: readonly Outcome[]): void {
  const total = outcomes.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  const lines = [
    `\n## ${backend}, ${minutes} minutes, seed ${seed}: ${total} acknowledged\n`,
    '| fault | acknowledged | refused | lost | wrong or repeated | made up | s until caught up |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...outcomes.map(
      (o) =>
        `| ${o.fault} | ${o.acknowledged} | ${o.refused} | ${o.lost} | ${o.wrong} | ${o.invented} | ${o.secondsUntilCaughtUp.toFixed(1)} |`,
    ),
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  if (process.env.CHAOS_REPORT) appendFileSync(process.env.CHAOS_REPORT, `${lines.join('\n')}\n`);
}

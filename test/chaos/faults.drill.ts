import { seededRandom } from '../../src/sandbox/random.ts';
import { type Backend, type Deployment, type DeploymentOptions, startDeployment } from './deployment.ts';
import { minutes, seed } from './drawn.ts';
import { classes, type Fault, fullDisk, notDrawn } from './faults.ts';
import { makeFaultyDisk, whyNoFaultyDisk } from './faulty-disk.ts';
import { type Outcome, runFault } from './run-fault.ts';
import { mayMount, mountSmallDisk } from './small-disk.ts';
import { addWebhookReceiver, type WebhookLedger } from './webhooks.ts';

const backends: Backend[] = ['redis', 'postgresql'];

/** The faults of a run: all of them in a long one, else one of each class, drawn from the seed. */
function choose(backend: Backend): Fault[] {
  const random = seededRandom(seed, backend.length);
  const usable = Object.entries(classes).filter(([name]) => name !== 'disk' || !whyNoFaultyDisk());
  const ofBackend = usable.map(([, faults]) => faults.filter((fault) => fault.backends.includes(backend)));
  if (minutes > 0) return ofBackend.flat();
  const brief = ofBackend.map((faults) => faults.filter(({ isLong }) => !isLong));
  return brief.flatMap((faults) => (faults.length > 0 ? [random.pick(faults)] : []));
}

// Producers stop at about 1,000: each counts once a second.
const mostJobs = 1_200;

jest.setTimeout(300_000 + minutes * 60_000);

describe.each(backends)(`on %s (seed ${seed})`, (backend) => {
  const applicable = choose(backend);
  const disk = whyNoFaultyDisk() ? undefined : makeFaultyDisk();
  const seconds = minutes > 0 ? (minutes * 60) / (applicable.length + 2) : 2;
  const options = { seconds, rate: minutes > 0 ? 400 : 150 };
  const manyInjections = minutes > 0 ? Math.ceil(seconds / 15) : 1;
  const outcomes: Outcome[] = [];
  let runs = 0;
  let deployment: Deployment;
  let webhooks: WebhookLedger;
  beforeAll(async () => {
    deployment = await startDeployment(backend, { disk });
    webhooks = await addWebhookReceiver(deployment);
  });
  afterAll(async () => {
    if (minutes > 0) report(backend, outcomes);
    await deployment.stop();
    await webhooks.stop();
    disk?.remove();
  });

  const promise =
    'no acknowledged delivery is lost or applied twice, none is invented, each row is the newest version of its record and told by webhooks in order, and no good callback is blamed';
  const expectNoLoss = async (
    fault: Fault,
    target: Deployment,
    ledger: WebhookLedger,
    injections = fault.isLong ? 1 : manyInjections,
  ) => {
    const given = { ...options, injections, webhooks: ledger, seed: seed + runs };
    runs += 1;
    const outcome = await runFault(target, fault, given);
    outcomes.push(outcome);
    if (minutes > 0) process.stderr.write(`${JSON.stringify(outcome)}\n`);
    expect(outcome).toMatchObject({
      lost: 0,
      broken: [],
      wrong: 0,
      repeated: 0,
      invented: 0,
      waiting: 0,
      failed: 0,
      reportedLost: 0,
      blamed: 0,
      untold: 0,
      disordered: 0,
    });
    expect(outcome.acknowledged).toBeGreaterThan(seconds * 10);
    expect(outcome.jobs).toBeLessThan(mostJobs);
  };

  const expectNoLossAlone = async (fault: Fault, needs: DeploymentOptions, injections?: number) => {
    const own = await startDeployment(backend, needs);
    const ledger = await addWebhookReceiver(own);
    await expectNoLoss(fault, own, ledger, injections).finally(own.stop);
    await ledger.stop();
  };

  it.each(applicable)(`$name: ${promise}`, (fault) =>
    fault.deployment ? expectNoLossAlone(fault, fault.deployment) : expectNoLoss(fault, deployment, webhooks),
  );

  // Needs permission to mount a disk.
  if (mayMount()) {
    it(`${fullDisk.name}: ${promise}`, async () => {
      const disk = mountSmallDisk(640);
      const small = await startDeployment(backend, { folder: disk.folder });
      const ledger = await addWebhookReceiver(small);
      await expectNoLoss(fullDisk, small, ledger).finally(() => small.stop().then(disk.unmount));
      await ledger.stop();
    });
  }
});

const classOf = (name: string) =>
  Object.entries(classes).find(([, faults]) => faults.some((fault) => fault.name === name))?.[0] ??
  'deployments of their own';

function report(backend: Backend, outcomes: readonly Outcome[]): void {
  const sum = (name: keyof Outcome, of = outcomes) =>
    of.reduce((all, outcome) => all + (outcome[name] as number), 0);
  const counted = [
    'callbacks',
    'acknowledged',
    'lost',
    'wrong',
    'repeated',
    'invented',
    'untold',
    'disordered',
    'blamed',
  ] as const;
  const rowOf = (name: string, of: readonly Outcome[]) =>
    `| ${name} | ${sum('injections', of)} | ${counted.map((one) => sum(one, of)).join(' | ')} |`;
  const names = [...new Set(outcomes.map(({ fault }) => classOf(fault)))];
  const lines = [
    `\n## ${backend}, ${minutes} minutes, seed ${seed}\n`,
    '| class of faults | injected | callbacks | acknowledged | lost | wrong | applied twice | invented | not told | told out of order | good ones answered with 4xx |',
    '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...names.map((name) =>
      rowOf(
        name,
        outcomes.filter(({ fault }) => classOf(fault) === name),
      ),
    ),
    rowOf('all', outcomes),
    '',
    ...notDrawn().map((what) => `Not drawn here: ${what}.`),
    '',
    '| fault | acknowledged | rejected | slowest response, ms | lost | wrong | applied twice | invented | 4xx | jobs | log lines | s until caught up |',
    '|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...outcomes.map(
      (o) =>
        `| ${o.fault} | ${o.acknowledged} | ${o.rejections || '–'} | ${o.slowestMs} | ${o.lost} | ${o.wrong} | ${o.repeated} | ${o.invented} | ${o.blamed} | ${o.jobs} | ${o.logLines} | ${o.secondsUntilCaughtUp.toFixed(1)} |`,
    ),
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
}

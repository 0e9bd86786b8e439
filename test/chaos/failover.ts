// npm run chaos:failover -- [--seconds 30] [--rate 200] [--backend redis|postgresql] [--address forwarder|hosts] [--seed N]
import { setTimeout as pause } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { positive } from '../../bench/options.ts';
import { findProgram } from '../support/programs.ts';
import type { TestServer } from '../support/standby.ts';
import { until } from '../support/until.ts';
import { type Backend, type Deployment, startDeployment } from './deployment.ts';
import { type Fault, failover } from './faults.ts';
import { runFault } from './run-fault.ts';

const options = new Command('chaos:failover')
  .description('Kills the primary under load, promotes its synchronous standby, and compares the tables')
  .option('--seconds <number>', 'seconds of load', positive, 30)
  .option('--rate <number>', 'callbacks a second', positive, 200)
  .option('--seed <number>', 'what decides the callbacks and the moment', positive, Date.now() % 100_000)
  .addOption(
    new Option('--backend <name>', 'where the queue is; default: both').choices(['redis', 'postgresql']),
  )
  .addOption(
    new Option(
      '--address <kind>',
      'a forwarder that is turned to the new primary, or both hosts in DATABASE_URL',
    )
      .choices(['forwarder', 'hosts'])
      .default('forwarder'),
  )
  .parse()
  .opts<{ seconds: number; rate: number; seed: number; backend?: Backend; address: string }>();

process.env.TEST_REDIS_SERVER = findProgram('redis-server');
process.chdir(new URL('../..', import.meta.url).pathname);

for (const backend of options.backend ? [options.backend] : (['redis', 'postgresql'] as const)) {
  const figures = await drill(backend);
  process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
  const { lost, wrong, invented, waiting, failed, writtenToFormerPrimary } = figures;
  if (lost + wrong + invented + waiting + failed + writtenToFormerPrimary > 0) process.exitCode = 1;
}

async function drill(backend: Backend) {
  const deployment = await startDeployment(backend, {
    standby: true,
    bothHosts: options.address === 'hosts',
  });
  const seconds = { promotion: 0, untilApplied: 0 };
  let former: TestServer | undefined;
  let rowsOfFormer = 0;
  const fault: Fault = {
    ...failover,
    inject: async (deployment) => {
      const began = performance.now();
      former = await deployment.failOver();
      seconds.promotion = (performance.now() - began) / 1000;
      const applied = await lastApplied(deployment);
      await until(async () => (await lastApplied(deployment)) > applied);
      seconds.untilApplied = (performance.now() - began) / 1000;
      // The host of the former primary comes back, while callbacks still come in.
      await former.restart();
      rowsOfFormer = await countRows(former);
      await pause(5_000);
    },
  };
  try {
    const outcome = await runFault(deployment, fault, { ...options, injections: 1 });
    return {
      backend,
      ...outcome,
      secondsOfPromotion: seconds.promotion,
      secondsUntilApplied: seconds.untilApplied,
      writtenToFormerPrimary: (await countRows(former!)) - rowsOfFormer,
    };
  } finally {
    await deployment.stop();
  }
}

async function lastApplied({ rows }: Deployment): Promise<string> {
  const [row] = await rows(`select coalesce(max(applied_at)::text, '') as at from applied_deliveries`).catch(
    () => [],
  );
  return (row?.at as string | undefined) ?? '';
}

async function countRows(server: TestServer): Promise<number> {
  const [row] = await server.rows('select count(*)::int as n from inbox');
  return row!.n as number;
}

// npm run chaos:hosts -- --minutes 3 [--backend redis|postgresql] [--seed N] [--rate 250] [--loss 0.02] [--report FILE]
import { appendFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { positive } from '../../../bench/options.ts';
import { withProgress } from '../../../src/commands/output.ts';
import { findProgram } from '../../support/programs.ts';
import type { Backend } from '../deployment.ts';
import { hostFaults } from './faults.ts';
import { type HostsRun, runHostFaults } from './run-host-faults.ts';

const options = new Command('chaos:hosts')
  .description(
    'Cuts links between three hosts made of network namespaces, under load, and compares the tables',
  )
  .option('--minutes <number>', 'minutes of load for each backend; catching up comes on top', positive, 3)
  .addOption(
    new Option('--backend <name>', 'where the queue is; default: both').choices(['redis', 'postgresql']),
  )
  .option('--seed <number>', 'what decides the callbacks and the moments', positive, Date.now() % 100_000)
  .option('--rate <number>', 'callbacks a second', positive, 250)
  .option('--loss <share>', 'share of all packets that is lost', Number, 0.02)
  .option('--report <file>', 'file that the tables are added to')
  .parse()
  .opts<{ minutes: number; backend?: Backend; seed: number; rate: number; loss: number; report?: string }>();

process.env.TEST_REDIS_SERVER = findProgram('redis-server');
// More than once: npm and the terminal both send a signal.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

const backends: Backend[] = options.backend ? [options.backend] : ['redis', 'postgresql'];
const seconds = (options.minutes * 60) / hostFaults.length;
for (const backend of backends) {
  process.stderr.write(`queue on ${backend}, seed ${options.seed}\n`);
  const expected = Math.round(options.minutes * 60 * options.rate);
  const run = await withProgress('attempts of the sender', expected, ({ advance }) =>
    runHostFaults(backend, {
      ...options,
      seconds,
      injections: Math.max(1, Math.round(seconds / 15)),
      onAttempt: () => advance(),
    }),
  );
  const report = tableOf(backend, run);
  process.stdout.write(report);
  if (options.report) appendFileSync(options.report, report);
  const broken = run.outcomes.filter(
    ({ lost, wrong, invented, waiting, failed }) => lost + wrong + invented + waiting + failed > 0,
  );
  if (broken.length > 0 || run.repeatedWrites > 0) process.exitCode = 1;
}

function tableOf(backend: Backend, { outcomes, repeatedWrites }: HostsRun): string {
  const sum = (of: (outcome: (typeof outcomes)[number]) => number) =>
    outcomes.reduce((all, outcome) => all + of(outcome), 0);
  const facts = [
    `${sum((one) => one.callbacks)} callbacks at ${options.rate} a second`,
    `${sum((one) => one.acknowledged)} acknowledgements`,
    `${sum((one) => one.rejected)} attempts without one`,
    `${sum((one) => one.lost)} lost, ${sum((one) => one.wrong)} wrong, ${sum((one) => one.invented)} made up, ${repeatedWrites} applied twice`,
  ];
  const head = [
    'fault',
    'acknowledged',
    'not acknowledged',
    's with 503',
    'longest time without 200, s',
    'slowest response, s',
    's until caught up',
  ];
  const inSeconds = (milliseconds: number) => (milliseconds / 1000).toFixed(1);
  const rows = outcomes.map((one) => [
    one.fault,
    one.acknowledged,
    one.rejections || '–',
    one.secondsOf503,
    inSeconds(one.longestPauseMs),
    inSeconds(one.slowestMs),
    one.secondsUntilCaughtUp.toFixed(1),
  ]);
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  const title = `${backend}, ${options.minutes} minutes, seed ${options.seed}, ${options.loss * 100} % of the packets lost`;
  return [
    `\n## ${title}\n`,
    `${facts.join('; ')}.\n`,
    line(head),
    line(head.map((_, index) => (index === 0 || index === 2 ? '---' : '---:'))),
    ...rows.map(line),
    '',
  ].join('\n');
}

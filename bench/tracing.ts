import { spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { families } from '../src/families/index.ts';
import { freePort } from '../src/store/embedded/free-port.ts';
import { fire } from './load/fire.ts';
import { receiptRequests, take } from './load/requests.ts';
import { benchCommand } from './options.ts';
import { scalar, startPostgres } from './stores/postgres.ts';

// The cost of traces and of the request log: CPU time of the receiver per callback, which other load on the machine changes less
// than a rate. Receiver and worker are one process, the queue is in PostgreSQL; the variants take turns in each round.

const { rounds, callbacks, against } = benchCommand('tracing', 'The cost of traces and of the request log', {
  rounds: 15,
  callbacks: 3_000,
})
  .option('--against <folder>', 'another version of this service, built')
  .parse()
  .opts<{ rounds: number; callbacks: number; against?: string }>();

const path = families[0].path.default[0]!;
const folder = '.data/bench-tracing';
const collector = createServer((req, res) => req.resume().on('end', () => res.end('{}'))).listen(0);
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
const postgres = await startPostgres(folder);

interface Variant {
  name: string;
  cwd?: string | undefined;
  env: Record<string, string>;
}

const traced = (ratio: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio });
const variants: Variant[] = [
  ...(against ? [{ name: 'former', cwd: against, env: {} }] : []),
  { name: 'off', env: {} },
  { name: 'traces, 1 %', env: traced('0.01') },
  { name: 'request log', env: { REQUEST_LOG: 'json' } },
];

/** The CPU time of all threads of a process; the ticks of /proc/<pid>/stat are 1 % of a round. */
function cpuMicroseconds(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const times = tasks.map(
    (task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0],
  );
  return times.reduce((sum, nanoseconds) => sum + Number(nanoseconds) / 1000, 0);
}

async function start({ name, cwd = process.cwd(), env }: Variant, index: number) {
  const databaseUrl = await postgres.freshDatabase(`tracing_${index}`);
  const port = await freePort();
  const child = spawn('sh', [`${cwd}/bin/start.sh`], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      ADMIN_TOKEN: 'a-token-of-the-benchmark',
      ...env,
    },
    stdio: ['ignore', openSync(`${folder}/output-${index}`, 'w'), 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/readyz`).catch(() => undefined))?.ok) await sleep(50);
  /** CPU in microseconds per callback, from the first request until all are applied; undefined: one was rejected. */
  const measure = async (requests: Buffer[]) => {
    const before = cpuMicroseconds(child.pid!);
    const { rejected } = await fire(
      { url, path, connections: 64, seconds: 60, warmup: 0 } as never,
      requests,
    );
    while ((await scalar(databaseUrl, 'select count(*) from pending_deliveries')) > 0) await sleep(20);
    return rejected > 0 ? undefined : (cpuMicroseconds(child.pid!) - before) / requests.length;
  };
  return { name, measure, figures: [] as number[], stop: () => child.kill('SIGTERM') };
}

const median = (figures: number[]) => figures.toSorted((a, b) => a - b)[figures.length >> 1]!;

const services: Awaited<ReturnType<typeof start>>[] = [];
for (const [index, variant] of variants.entries()) services.push(await start(variant, index));
const source = receiptRequests({ seed: 1, host: '127.0.0.1', path, signingKey: undefined });
for (let round = -3; round < rounds; round += 1) {
  const requests = take(source, callbacks);
  const results = new Map<(typeof services)[number], number | undefined>();
  // In another order each time; the first rounds warm up.
  for (const n of services.keys()) {
    const service = services[(n + round + 3) % services.length]!;
    results.set(service, await service.measure(requests));
  }
  // On a machine that is too busy, commits exceed their time limit: such a round does not count.
  if (round < 0 || [...results.values()].includes(undefined)) continue;
  for (const [{ figures }, figure] of results) figures.push(figure!);
}
for (const { name, figures } of services) {
  const ratios = figures.map((figure, round) => figure / services[0]!.figures[round]!);
  const text = `${name.padEnd(14)} ${median(figures).toFixed(1)} µs per callback in ${figures.length} rounds, `;
  process.stdout.write(
    `${text}${((median(ratios) - 1) * 100).toFixed(1)} % more than ${services[0]!.name}\n`,
  );
}
for (const { stop } of services) stop();
collector.closeAllConnections();
collector.close();
await postgres.stop();
rmSync(folder, { recursive: true });

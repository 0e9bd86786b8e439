import {
  type Contender,
  type ProgramOf,
  receiptsPath,
  type Stores,
  startScript,
} from './contenders/contender.ts';
import type { LoadFigures } from './load/order.ts';
import { runLoad } from './load/run-load.ts';
import { loneDelivery } from './lone.ts';
import type { BenchOptions } from './options.ts';
import { type Program, startProgram } from './process/program.ts';
import { busySeconds, cpuSeconds, familyMiB, peakMiB } from './process/usage.ts';
import type { BenchPostgres } from './stores/postgres.ts';
import type { BenchRedis } from './stores/redis.ts';
import { deadDeliveries, type Storage, storageOf } from './stores/storage.ts';
import { untilEmpty } from './until-empty.ts';

export interface Bench {
  options: BenchOptions;
  postgres: BenchPostgres;
  redis: BenchRedis;
  say: (line: string) => void;
}

export interface PerProcess {
  receiver: number;
  worker: number;
  postgres: number;
  redis: number;
}

/** The figures of one contender in one round. */
export interface Measurement {
  /** The receiver alone, at full load and at half of that rate. */
  alone: LoadFigures;
  half: LoadFigures;
  /** At the half-load rates of other contenders. */
  at: Record<string, LoadFigures>;
  /** Receiver and worker together, at full load. */
  both: LoadFigures | undefined;
  /** Acknowledged per second in the warm-up before that, which begins right after both have started. */
  firstPerSecond: number | undefined;
  /** Rows per second, from the first request to the last row. */
  appliedPerSecond: number | undefined;
  /** CPU seconds per 10,000 deliveries, receiver and worker together. */
  cpu: PerProcess;
  /** Bytes per delivery, receiver and worker together, before any vacuum. */
  storage: Storage | undefined;
  /** Dead tuples of the table of deliveries, where there is one. */
  deadTuples: number | undefined;
  /** From sending one request to its row, while the worker is idle: median. */
  loneMs: number | undefined;
  /** MiB; of the stores at the end. */
  memory: PerProcess;
  /** Share of a core that other programs used while the receiver was measured alone. */
  others: number;
  /** From start to ready, on an existing database. */
  readyMs: { receiver: number; worker: number | undefined };
}

/**
 * Measures a contender: its receiver alone, then, on fresh stores, receiver and worker together.
 *
 * @param rates at which its receiver is measured besides
 * @param expected deliveries per second that its receiver acknowledges alone, if that is known
 */
export async function measure(
  bench: Bench,
  contender: Contender,
  seed: number,
  { rates = {}, expected }: { rates?: Record<string, number>; expected?: number | undefined } = {},
): Promise<Measurement> {
  const first = await aloneOf(bench, contender, seed, rates, expected);
  const second = contender.worker
    ? await togetherOf(bench, contender, seed + 500, first.alone.perSecond)
    : undefined;
  const applied = contender.stores ? first.alone.perSecond : undefined;
  return {
    both: undefined,
    firstPerSecond: undefined,
    appliedPerSecond: applied,
    deadTuples: undefined,
    loneMs: undefined,
    ...first,
    ...second,
    readyMs: { receiver: first.receiverReadyMs, worker: second?.workerReadyMs },
  };
}

async function togetherOf(bench: Bench, contender: Contender, seed: number, expected: number) {
  const stores = await freshStores(bench, contender);
  const figures = await together(bench, contender, stores, seed, expected);
  const deadTuples = contender.signingKey ? await deadDeliveries(stores.databaseUrl) : undefined;
  return { ...figures, deadTuples };
}

async function aloneOf(
  bench: Bench,
  contender: Contender,
  seed: number,
  rates: Record<string, number>,
  expected: number | undefined,
) {
  const { options, say } = bench;
  const stores = await freshStores(bench, contender);
  const receiver = await start(bench, contender.receiver, stores);
  const load = { ...loadOf(contender, options), url: receiver.url };
  try {
    const storageBefore = await storageOf(stores.databaseUrl);
    const before = { cpu: cpuOf(bench, receiver), busy: busySeconds(), time: performance.now() };
    const alone = await runLoad({ ...load, seed, expected });
    const after = { cpu: cpuOf(bench, receiver), busy: busySeconds(), time: performance.now() };
    const cpu = per10k(before.cpu, after.cpu, alone.acknowledged);
    const storage = contender.stores
      ? perDelivery(storageBefore, await storageOf(stores.databaseUrl), alone.acknowledged)
      : undefined;
    const own = sum(after.cpu) - sum(before.cpu) + alone.cpuSeconds;
    const others = (after.busy - before.busy - own) / ((after.time - before.time) / 1000);
    say(`${contender.name}, alone: ${line(alone)}`);
    const warm = { ...load, warmup: Math.min(1, options.warmup) };
    const half = await runLoad({ ...warm, seed: seed + 1, rate: alone.perSecond / 2 });
    say(`${contender.name}, half load: ${line(half)}`);
    const at: Record<string, LoadFigures> = {};
    for (const [index, [other, rate]] of Object.entries(rates).entries()) {
      at[other] = await runLoad({ ...warm, seed: seed + 2 + index, rate });
      say(`${contender.name}, at the rate of ${other}: ${line(at[other])}`);
    }
    const memory = memoryOf(bench, receiver);
    return { alone, half, at, cpu, others, storage, memory, receiverReadyMs: receiver.readyMs };
  } finally {
    await receiver.stop();
  }
}

/**
 * Measures receiver and worker together on the existing contents of the stores.
 *
 * @param expected deliveries per second that the receiver acknowledges alone, if that is known
 */
export async function together(
  bench: Bench,
  contender: Contender,
  stores: Stores,
  seed: number,
  expected?: number,
) {
  const { options, say } = bench;
  const receiver = await start(bench, contender.receiver, stores);
  const worker = await start(bench, contender.worker!, stores).catch(async (error) => {
    await receiver.stop();
    throw error;
  });
  const load = { ...loadOf(contender, options), url: receiver.url };
  const waiting = () => contender.waiting!(stores);
  try {
    const warm = await runLoad({ ...load, seed, expected, seconds: options.warmup, warmup: 0 });
    await untilEmpty(waiting, options.drain);
    const storageBefore = await storageOf(stores.databaseUrl);
    const cpuBefore = cpuOf(bench, receiver, worker);
    const both = await runLoad({ ...load, seed: seed + 1, expected: warm.perSecond, warmup: 0 });
    const left = await untilEmpty(waiting, options.drain);
    const applied = both.acknowledged - left;
    const appliedPerSecond = applied / ((Date.now() - both.began) / 1000);
    const cpu = per10k(cpuBefore, cpuOf(bench, receiver, worker), applied);
    const storage = perDelivery(storageBefore, await storageOf(stores.databaseUrl), applied);
    say(`${contender.name}, both: ${line(both)}; ${Math.round(appliedPerSecond)} rows/s`);
    const memory = memoryOf(bench, receiver, worker);
    const loneMs = await loneDelivery(contender, receiver.url, stores.databaseUrl, seed + 2);
    say(`${contender.name}, lone delivery: ${loneMs.toFixed(1)} ms`);
    const firstPerSecond = warm.perSecond;
    return {
      both,
      firstPerSecond,
      appliedPerSecond,
      cpu,
      storage,
      memory,
      loneMs,
      workerReadyMs: worker.readyMs,
    };
  } finally {
    await worker.stop();
    await receiver.stop();
  }
}

/** A new database with the tables that the contender expects, and an empty Redis. */
export async function freshStores(
  { postgres, redis }: Bench,
  contender: Contender,
  name?: string,
): Promise<Stores> {
  const stores = { databaseUrl: await postgres.freshDatabase(name), redisUrl: redis.url };
  await redis.empty();
  await contender.prepare?.(stores);
  return stores;
}

function start({ options }: Bench, { command, env, cwd }: ProgramOf, stores: Stores): Promise<Program> {
  const isOurs = command.includes(startScript);
  const profile = options.profile && isOurs ? ['--cpu-prof', `--cpu-prof-dir=${options.profile}`] : [];
  return startProgram([...command, ...profile], env(stores), cwd);
}

function loadOf({ signingKey }: Contender, { connections, seconds, warmup }: BenchOptions) {
  return { path: receiptsPath, connections, seconds, warmup, rate: undefined, signingKey };
}

function cpuOf({ postgres, redis }: Bench, receiver: Program, worker?: Program): PerProcess {
  return {
    receiver: cpuSeconds(receiver.pid),
    worker: worker ? cpuSeconds(worker.pid) : 0,
    postgres: cpuSeconds(postgres.pid),
    redis: cpuSeconds(redis.pid),
  };
}

function memoryOf({ postgres, redis }: Bench, receiver: Program, worker?: Program): PerProcess {
  return {
    receiver: peakMiB(receiver.pid),
    worker: worker ? peakMiB(worker.pid) : 0,
    postgres: familyMiB(postgres.pid),
    redis: familyMiB(redis.pid),
  };
}

/** The sum of all four processes. */
export const sum = ({ receiver, worker, postgres, redis }: PerProcess) =>
  receiver + worker + postgres + redis;

function per10k(before: PerProcess, after: PerProcess, deliveries: number): PerProcess {
  const cost = (name: keyof PerProcess) => ((after[name] - before[name]) * 10_000) / deliveries;
  return {
    receiver: cost('receiver'),
    worker: cost('worker'),
    postgres: cost('postgres'),
    redis: cost('redis'),
  };
}

function perDelivery(before: Storage, after: Storage, deliveries: number): Storage {
  return { wal: (after.wal - before.wal) / deliveries, disk: (after.disk - before.disk) / deliveries };
}

function line({ perSecond, p50, p99, cpu }: LoadFigures): string {
  const share = `${Math.round(cpu * 100)} % of a core for the load`;
  return `${Math.round(perSecond)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${share})`;
}

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type Contender, floor, type Program } from './contenders.ts';
import type { LoadFigures, LoadOrder } from './load.ts';
import type { BenchStores, Stores } from './stores.ts';

export interface BenchOptions {
  seconds: number;
  rounds: number;
  connections: number;
}

/** Of one contender in one round. */
export interface Measurement {
  /** 200s per second, while its worker applies them. */
  acknowledged: number;
  /** Rows per second, from the first request until nothing waits. */
  applied?: number;
  /** Bytes per callback. */
  wal?: number;
  disk?: number;
  p50?: number;
  p99?: number;
}

const warmupSeconds = 0.5;

/** Measures contenders, each on stores of its own. */
export class Bench {
  private readonly load = fork(join(import.meta.dirname, 'load.ts'), { execArgv: ['--import', 'tsx'] });
  private readonly running = new Set<ChildProcess>();
  private readonly stores: BenchStores;
  private readonly options: BenchOptions;
  private series = 0;

  constructor(stores: BenchStores, options: BenchOptions) {
    this.stores = stores;
    this.options = options;
  }

  async measure(contender: Contender, database: string, template: string): Promise<Measurement> {
    const stores = await this.stores.fresh(database, template);
    if (!contender.receiver) return this.measureFloor(stores);
    const receiver = await this.start(contender.receiver, stores);
    const worker = contender.worker && (await this.start(contender.worker, stores));
    const { seconds, connections } = this.options;
    const load = { url: receiver.url, connections };
    await this.send({ ...load, seconds: warmupSeconds });
    const waitingBefore = await this.drain(contender, stores);
    const before = await this.usage(stores);
    const { perSecond: acknowledged, p50, p99, ...sent } = await this.send({ ...load, seconds });
    const left = await this.drain(contender, stores);
    const elapsed = (Date.now() - sent.began) / 1000;
    const after = await this.usage(stores);
    await worker?.stop();
    await receiver.stop();
    if (!contender.waiting) return { acknowledged, p50, p99 };
    const rows = waitingBefore + sent.acknowledged - left;
    return {
      acknowledged,
      applied: rows / elapsed,
      wal: (after.wal - before.wal) / rows,
      disk: (after.disk - before.disk) / rows,
      p50,
      p99,
    };
  }

  /** Ends what still runs. */
  stop(): void {
    this.load.kill();
    for (const child of this.running) child.kill('SIGKILL');
  }

  private async measureFloor(stores: Stores): Promise<Measurement> {
    const { seconds, connections } = this.options;
    const before = await this.usage(stores);
    const child = this.spawn(floor(seconds, connections, ++this.series), stores);
    const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
    const { stored } = JSON.parse(line) as { stored: number };
    const after = await this.usage(stores);
    return {
      acknowledged: stored / seconds,
      wal: (after.wal - before.wal) / stored,
      disk: (after.disk - before.disk) / stored,
    };
  }

  private async send(order: Omit<LoadOrder, 'series'>): Promise<LoadFigures> {
    this.load.send({ ...order, series: ++this.series });
    const [answer] = (await once(this.load, 'message')) as [LoadFigures | { error: string }];
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }

  /** @returns how many callbacks are left */
  private async drain({ waiting, drainSeconds = 60 }: Contender, stores: Stores): Promise<number> {
    if (!waiting) return 0;
    const deadline = Date.now() + drainSeconds * 1000;
    for (;;) {
      const left = await waiting(stores, this.stores);
      if (left === 0 || Date.now() > deadline) return left;
      await pause(25);
    }
  }

  private async usage({ databaseUrl }: Stores) {
    const { query } = this.stores;
    return {
      wal: Number(await query(`select pg_current_wal_insert_lsn() - '0/0'`)),
      disk: Number(await query('select pg_database_size(current_database())', databaseUrl)),
    };
  }

  private spawn({ command, env, cwd }: Program, stores: Stores): ChildProcess {
    const { PATH, HOME } = process.env;
    const child = spawn(command[0]!, command.slice(1), {
      cwd,
      env: { PATH, HOME, NODE_ENV: 'production', ...env(stores) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.running.add(child);
    child.once('exit', () => this.running.delete(child));
    return child;
  }

  /** Starts a program, and waits for its line "ready". */
  private async start(program: Program, stores: Stores) {
    const child = this.spawn(program, stores);
    const exited = once(child, 'exit');
    const lines: string[] = [];
    const ready = new Promise<{ url: string }>((resolve, reject) => {
      createInterface({ input: child.stdout! }).on('line', (line) => {
        if (line.includes('"msg":"ready"')) resolve(JSON.parse(line));
        if (lines.push(line) > 20) lines.shift();
      });
      exited.then(
        () => reject(new Error(`${program.command.join(' ')} ended:\n${lines.join('\n')}`)),
        reject,
      );
    });
    const { url } = await ready;
    const stop = async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
      await exited;
      clearTimeout(timer);
    };
    return { url, stop };
  }
}

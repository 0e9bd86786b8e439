import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { receiptCallback } from './callbacks.ts';
import type { Contender, Program } from './contenders.ts';
import type { LoadFigures, LoadOrder } from './load.ts';
import type { BenchStores, Stores } from './stores.ts';

/** Rates are per second; CPU, in microseconds, and bytes per callback. */
export interface Burst {
  /** 200s, while the worker applies them. */
  acknowledged: number;
  /** Rows, from the first request until nothing waits. */
  applied?: number;
  p50: number;
  p99: number;
  receiver?: number;
  worker?: number;
  postgres?: number;
  wal?: number;
  disk?: number;
}

/** A contender that runs, on stores of its own: it costs nothing while others are measured. */
export interface Running {
  contender: Contender;
  burst: (seconds: number) => Promise<Burst>;
  /** Sends at a rate, whatever the answers. */
  pace: (perSecond: number, seconds: number) => Promise<LoadFigures>;
  /** @returns milliseconds from a callback, sent while nothing else is, until its row is there */
  sendAlone: (count: number) => Promise<number[]>;
}

const warmupSeconds = 1;
const alonePauseMs = 100;

export class Bench {
  private readonly load = fork(join(import.meta.dirname, 'load.ts'), { execArgv: ['--import', 'tsx'] });
  private readonly children = new Set<ChildProcess>();
  private readonly stores: BenchStores;
  private readonly connections: number;
  private series = 0;

  constructor(stores: BenchStores, connections: number) {
    this.stores = stores;
    this.connections = connections;
  }

  async start(contender: Contender): Promise<Running> {
    const stores = await this.stores.fresh();
    await contender.prepare(stores, this.stores);
    const { url, pid } = await this.run(contender.receiver, stores);
    const worker = contender.worker && (await this.run(contender.worker, stores));
    const pids = { receiver: pid, ...(worker && { worker: worker.pid }) };
    const send = (order: Partial<LoadOrder> & Pick<LoadOrder, 'seconds'>) =>
      this.send({ url, connections: this.connections, ...order });
    await send({ seconds: warmupSeconds });
    await this.drain(contender, stores);
    return {
      contender,
      burst: async (seconds) => {
        const before = await this.usage(stores, pids);
        const { acknowledged: count, perSecond: acknowledged, p50, p99, began } = await send({ seconds });
        const left = await this.drain(contender, stores);
        const applied = (count - left) / ((Date.now() - began) / 1000);
        const after = await this.usage(stores, pids);
        const used = Object.entries(after).map(
          ([name, value]) => [name, (value - (before[name] ?? 0)) / count] as const,
        );
        return { acknowledged, ...(contender.waiting && { applied }), p50, p99, ...sumOfBackends(used) };
      },
      pace: async (perSecond, seconds) => {
        // What the bursts have left would be vacuumed in the middle.
        await this.stores.query('vacuum analyze', stores.databaseUrl);
        return send({ seconds, perSecond });
      },
      sendAlone: async (count) => {
        const times: number[] = [];
        await this.stores.connected(stores, async (query) => {
          for (let n = 0; n < count; n += 1) {
            await pause(alonePauseMs);
            const { business_id, data } = JSON.parse(receiptCallback(this.series + 1, 0));
            const { began } = await send({ seconds: 10, requests: 1, connections: 1 });
            while (
              !(await query(
                `select 1 from receipts where business_id = '${business_id}' and receipt_id = ${data.receipt_id}`,
              ))
            )
              await pause(1);
            times.push(performance.timeOrigin + performance.now() - began);
          }
        });
        return times.toSorted((a, b) => a - b);
      },
    };
  }

  stop(): void {
    this.load.kill();
    for (const child of this.children) child.kill('SIGKILL');
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
      const isLast = Date.now() > deadline;
      const left = await waiting(stores, this.stores, isLast);
      if (left === 0 || isLast) return left;
      await pause(10);
    }
  }

  /** Bytes, and microseconds of a CPU; those of PostgreSQL by process. */
  private async usage(
    { databaseUrl }: Stores,
    pids: Record<string, number>,
  ): Promise<Record<string, number>> {
    const { query } = this.stores;
    const backends = await query(
      `select array_agg(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
       and datname = '${new URL(databaseUrl).pathname.slice(1)}'`,
    );
    const all = {
      ...pids,
      ...Object.fromEntries(((backends ?? []) as number[]).map((pid) => [`${backend}${pid}`, pid])),
    };
    return {
      wal: Number(await query(`select pg_current_wal_insert_lsn() - '0/0'`)),
      disk: Number(await query('select pg_database_size(current_database())', databaseUrl)),
      ...Object.fromEntries(Object.entries(all).map(([name, pid]) => [name, cpuOf(pid)])),
    };
  }

  /** Starts a program, and waits for its line "ready". */
  private async run({ command, env, cwd }: Program, stores: Stores) {
    const { PATH, HOME } = process.env;
    const child = spawn(command[0]!, command.slice(1), {
      cwd,
      env: { PATH, HOME, NODE_ENV: 'production', ...env(stores) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.children.add(child);
    const lines: string[] = [];
    return new Promise<{ url: string; pid: number }>((resolve, reject) => {
      createInterface({ input: child.stdout! }).on('line', (line) => {
        if (line.includes('"msg":"ready"')) resolve({ ...JSON.parse(line), pid: child.pid! });
        if (lines.push(line) > 20) lines.shift();
      });
      child.once('exit', () => reject(new Error(`${command.join(' ')} ended:\n${lines.join('\n')}`)));
    });
  }
}

const backend = 'backend ';
const sumOfBackends = (used: (readonly [name: string, value: number])[]) => {
  const ofBackends = used.filter(([name]) => name.startsWith(backend)).map(([, value]) => value);
  const postgres = ofBackends.reduce((sum, value) => sum + value, 0);
  return { ...Object.fromEntries(used.filter(([name]) => !name.startsWith(backend))), postgres };
};

/** In microseconds, of all its threads: the clock of Linux ticks a hundred times a second. */
function cpuOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return Number.NaN;
  const times = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/schedstat`, 'utf8'));
  return times.reduce((sum, time) => sum + Number(time.split(' ')[0]) / 1000, 0);
}

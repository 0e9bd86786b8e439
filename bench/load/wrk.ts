import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { LoadFigures, LoadOrder } from './order.ts';
import { take } from './requests.ts';

type Source = Generator<Buffer, never>;

/** The output of the script at the end of a run; latencies in milliseconds. */
interface WrkFigures {
  requests: number;
  seconds: number;
  p50: number;
  p99: number;
  rejected: number;
  /** Errors of connections, and responses that never came. */
  broken: number;
  /** CPU seconds. */
  cpu: number;
}

interface Files {
  /** Where the requests are written for wrk. */
  file: string;
  program?: string;
}

const script = 'bench/load/wrk.lua';
// Requests are prepared for this many times the rate that the receiver has reached, because it becomes faster while it
// is new, and so do others that use the machine less; at least for the least, at most for what no receiver of one
// thread answers.
const margin = 3;
const [minPerSecond, maxPerSecond] = [10_000, 60_000];
const timeoutSeconds = 30;

/** The version of wrk; undefined where it is not installed. */
export function wrkVersion(program = 'wrk'): string | undefined {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /^wrk \S+/.exec(stdout ?? '')?.[0];
}

/**
 * Sends as many requests as possible: wrk costs a fraction of what Node does. It has no warm-up of its own, so that
 * is a run of its own, which also shows how many requests the measured run needs.
 *
 * @throws Error when the requests run out, or a connection fails
 */
export async function fireWithWrk(
  order: LoadOrder,
  source: Source,
  { file, program = 'wrk' }: Files,
): Promise<LoadFigures> {
  const run = (seconds: number, rate = Number.POSITIVE_INFINITY) => {
    const perSecond = Math.min(maxPerSecond, Math.max(minPerSecond, margin * rate));
    const whole = Math.ceil(seconds); // wrk has no shorter unit
    writeRequests(file, source, Math.ceil(perSecond * whole) + order.connections);
    return runWrk(order, program, file, whole);
  };
  const warm = order.warmup > 0 ? await run(order.warmup, order.expected) : undefined;
  const measured = await run(order.seconds, warm ? warm.requests / warm.seconds : order.expected);
  const runs = warm ? [warm, measured] : [measured];
  const sum = (of: (run: WrkFigures) => number) => runs.reduce((total, run) => total + of(run), 0);
  const total = process.cpuUsage();
  return {
    perSecond: (measured.requests - measured.rejected) / measured.seconds,
    p50: measured.p50,
    p99: measured.p99,
    acknowledged: sum(({ requests, rejected }) => requests - rejected),
    rejected: sum(({ rejected }) => rejected),
    seconds: sum(({ seconds }) => seconds),
    cpu: measured.cpu / measured.seconds,
    cpuSeconds: sum(({ cpu }) => cpu) + (total.user + total.system) / 1e6,
    began: runs[0]!.began,
  };
}

async function runWrk(
  { url, connections }: LoadOrder,
  program: string,
  file: string,
  seconds: number,
): Promise<WrkFigures & { began: number }> {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, `--timeout=${timeoutSeconds}s`, '-s', script];
  const child = spawn(program, [...args, url, '--', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let ended = 0;
  child.stdout.on('data', () => {
    ended = Date.now();
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  rmSync(file);
  if (code !== 0) throw new Error(`wrk ended with ${code}.`);
  const figures = parseFigures(output);
  if (figures.broken > 0) throw new Error(`${figures.broken} requests of the load got no response.`);
  return { ...figures, began: ended - figures.seconds * 1000 };
}

/** Writes requests as the script reads them. */
export function writeRequests(file: string, source: Source, count: number): void {
  const perWrite = 1000;
  const target = openSync(file, 'w');
  for (let written = 0; written < count; written += perWrite) {
    const requests = take(source, Math.min(perWrite, count - written));
    writeSync(target, Buffer.concat(requests.flatMap((bytes) => [Buffer.from(`${bytes.length}\n`), bytes])));
  }
  closeSync(target);
}

/** The script's figures, in a line of its own of wrk's output. */
export function parseFigures(output: string): WrkFigures {
  const line = output.split('\n').find((one) => one.startsWith('{'));
  if (!line) throw new Error(`wrk printed no figures: ${output}`);
  return JSON.parse(line) as WrkFigures;
}

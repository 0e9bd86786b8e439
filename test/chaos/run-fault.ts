import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { identify } from '../../src/intake/identity.ts';
import type { Callback } from '../../src/sandbox/history.ts';
import { seededRandom } from '../../src/sandbox/random.ts';
import { type SendOptions, sendCallbacks } from '../../src/sandbox/sender.ts';
import { registeredUrls, type UrlOf } from '../../src/sandbox/urls.ts';
import { callbacks } from '../../src/sandbox/variations.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';
import { countJobs, countWaiting } from './counts.ts';
import type { Deployment } from './deployment.ts';
import type { Fault } from './faults.ts';
import { Ledger } from './ledger.ts';
import { newestVersions, versionsInTables } from './model.ts';
import { countRepeatedWrites, noteWrites } from './repeated-writes.ts';
import type { WebhookLedger } from './webhooks.ts';

/** The part of a deployment that a run uses. */
export type Target = Pick<Deployment, 'urls' | 'redis' | 'rows' | 'logLines'> &
  Partial<Pick<Deployment, 'databaseUrl'>>;

export interface Outcome {
  fault: string;
  injections: number;
  /** Sent at least once, duplicates of the history not counted. */
  callbacks: number;
  acknowledged: number;
  rejected: number;
  /** Good callbacks that were answered with a 4xx. */
  blamed: number;
  /** Statuses and errors of those, with their counts. */
  rejections: string;
  /** The longest response time. */
  slowestMs: number;
  /** Seconds in which a response was 503. */
  secondsOf503: number;
  /** The longest time between two acknowledgements. */
  longestPauseMs: number;
  /** Acknowledged, but not in `deliveries`, or not applied. */
  lost: number;
  /** Rows that are not the newest version of their record. */
  wrong: number;
  /** Writes of rows, without the first of each delivery. */
  repeated: number;
  /** In `deliveries`, but never sent. */
  invented: number;
  /** Still `received`, or still in Redis, after all acknowledged deliveries are applied. */
  waiting: number;
  failed: number;
  /** Rows whose newest version is not the last that the receiver of webhooks has. */
  untold: number;
  /** Webhooks with an older state than one before, or two requests about one record at the same time. */
  disordered: number;
  /** In the queue after the last injection, in any state. */
  jobs: number;
  /** Of all processes. */
  logLines: number;
  secondsUntilCaughtUp: number;
}

export interface FaultRunOptions {
  seconds: number;
  rate: number;
  injections: number;
  seed: number;
  /** Of the sender. Default: 256 connections, because a rejected callback waits before it is resent, and 5 s. */
  sender?: Pick<SendOptions, 'connections' | 'timeoutMs'>;
  webhooks?: WebhookLedger;
  /** Called with each response. */
  onAttempt?: () => void;
}

/** Sends callbacks to a deployment while a fault is injected at random moments, and compares the result. */
export async function runFault<T extends Target>(
  deployment: T,
  fault: Fault<T>,
  options: FaultRunOptions,
): Promise<Outcome> {
  const { seconds, rate, injections, seed } = options;
  const ledger = new Ledger();
  const aborting = new AbortController();
  setMaxListeners(0, aborting.signal);
  await noteWrites(deployment.rows);
  const before = await countDeliveries(deployment);
  const repeatedBefore = await countRepeatedWrites(deployment.rows);
  const linesBefore = deployment.logLines().length;
  const random = seededRandom(seed, 7);
  let injected = false;
  let jobs = 0;
  const end = Date.now() + seconds * 1000;
  const sending = sendCallbacks(
    callbacksWhile(() => !injected || Date.now() < end, seed),
    {
      urlOf: inTurn(deployment.urls),
      connections: 256,
      timeoutMs: 5_000,
      ...options.sender,
      rate,
      resendOnFailure: true,
      onAttempt: (attempt) => {
        ledger.record(attempt);
        options.onAttempt?.();
      },
      signal: aborting.signal,
    },
  );
  try {
    for (const fraction of moments(injections, seed)) {
      await pause(Math.max(0, end - seconds * 1000 * (1 - fraction) - Date.now()));
      await fault.inject(deployment, random);
    }
    jobs = await countJobs(deployment);
    injected = true;
  } catch (error) {
    aborting.abort(); // the deployment could not be repaired
    await sending;
    throw error;
  }
  await sending;
  const repairedAt = Date.now();
  const waiting = await countFinally(() => countWaiting(deployment));
  await replayParked(deployment);
  const lost = await countLost(deployment, ledger);
  const secondsUntilCaughtUp = (Date.now() - repairedAt) / 1000;
  return {
    fault: fault.name,
    injections,
    callbacks: ledger.sent.size,
    acknowledged: ledger.acknowledged,
    rejected: ledger.rejected,
    blamed: ledger.blamed,
    rejections: [...ledger.rejections].map(([outcome, count]) => `${count} × ${outcome}`).join(', '),
    slowestMs: Math.round(ledger.slowestMs),
    secondsOf503: ledger.secondsOf503.size,
    longestPauseMs: Math.round(ledger.longestPauseMs),
    lost,
    ...(await compare(deployment, ledger, before)),
    repeated: (await countRepeatedWrites(deployment.rows)) - repeatedBefore,
    waiting,
    failed: await countDeliveries(deployment, 'failed'),
    ...(await told(options.webhooks)),
    jobs,
    logLines: deployment.logLines().length - linesBefore,
    secondsUntilCaughtUp,
  };
}

/** Each attempt goes to the next receiver, as a load balancer without health checks would send it. */
function inTurn(urls: readonly string[]): UrlOf {
  const all = urls.map((url) => registeredUrls(url));
  let next = 0;
  return (callback) => {
    next += 1;
    return all[next % all.length]!(callback);
  };
}

function* callbacksWhile(continues: () => boolean, seed: number): Generator<Callback> {
  for (const callback of callbacks({ seed, duplicates: 0.05, shuffle: true })) {
    if (!continues()) return;
    yield callback;
  }
}

/** Random moments within the first 80 % of a run, as fractions of it. */
function moments(count: number, seed: number): number[] {
  const random = (index: number) => (Math.sin(seed * 9301 + index * 49297) + 1) / 2;
  return Array.from({ length: count }, (_, index) => ((index + random(index)) / count) * 0.8);
}

async function told(webhooks: WebhookLedger | undefined) {
  const { untold = 0, disordered = 0 } = (await webhooks?.compare()) ?? {};
  return { untold, disordered };
}

/** Replays the acknowledged deliveries that were parked, as an operator does once the cause is gone. */
async function replayParked({ rows, databaseUrl }: Target): Promise<void> {
  const parked = await rows('select from quarantine where acknowledged and replayed_at is null');
  if (parked.length === 0 || !databaseUrl) return;
  const command = spawnReceiver(['quarantine', 'replay'], { DATABASE_URL: databaseUrl });
  if ((await command.end()) !== 0) throw new Error(`The replay failed: ${command.output()}`);
}

/** How many acknowledged deliveries are not applied. */
async function countLost(deployment: Target, ledger: Ledger): Promise<number> {
  const acknowledged = [...ledger.sent.values()].filter((sent) => sent.acknowledged);
  const ids = new Set(acknowledged.map(({ callback }) => identify(callback.envelope as never)));
  return countFinally(async () => {
    const rows = await deployment.rows(`select id from deliveries where status = 'applied'`);
    const applied = new Set(rows.map(({ id }) => id as string));
    return [...ids].filter((id) => !applied.has(id)).length;
  });
}

/** Waits until the count is 0, and returns what it is when the time is up. */
async function countFinally(count: () => Promise<number>): Promise<number> {
  let n = Number.POSITIVE_INFINITY; // while nobody can count
  const isNone = async () => {
    n = await count().catch(() => n);
    return n === 0;
  };
  await until(isNone, 60_000, 250).catch(() => {});
  return n;
}

async function compare(
  deployment: Target,
  ledger: Ledger,
  before: number,
): Promise<{ wrong: number; invented: number }> {
  const all = [...ledger.sent.values()].map(({ callback }) => callback);
  const byId = new Map(all.map((callback) => [identify(callback.envelope as never), callback]));
  const rows = await deployment.rows('select id from deliveries');
  const stored = rows.map(({ id }) => id as string).filter((id) => byId.has(id));
  // A delivery that was not acknowledged may be stored nevertheless, and then counts.
  const expected = newestVersions(stored.map((id) => byId.get(id)!));
  const versions = await deployment.rows(versionsInTables);
  const found = new Map(versions.map(({ key, id }) => [key as string, id as string]));
  const wrong = [...expected].filter(([key, id]) => found.get(key) !== id).length;
  return { wrong, invented: rows.length - stored.length - before };
}

async function countDeliveries(deployment: Target, status?: string): Promise<number> {
  const where = status ? `where status = '${status}'` : '';
  const [row] = await deployment.rows(`select count(*)::int as n from deliveries ${where}`);
  return row!.n as number;
}

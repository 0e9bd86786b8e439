import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { identify } from '../../src/intake/identity.ts';
import type { Callback } from '../../src/sandbox/history.ts';
import type { Attempt } from '../../src/sandbox/post.ts';
import { seededRandom } from '../../src/sandbox/random.ts';
import { type SendOptions, sendCallbacks } from '../../src/sandbox/sender.ts';
import { registeredUrls, type UrlOf } from '../../src/sandbox/urls.ts';
import { type CallbacksOptions, callbacks } from '../../src/sandbox/variations.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';
import { countJobs, countWaiting } from './counts.ts';
import type { Deployment } from './deployment.ts';
import type { Fault } from './faults.ts';
import { Ledger } from './ledger.ts';
import { newestVersions, versionsInTables } from './model.ts';
import { countRepeatedWrites, noteWrites } from './repeated-writes.ts';
import { withSession } from './session.ts';
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
  /** Promises about the time of the fault that were not kept. */
  broken: string[];
  /** Rows that are not the newest version of their record. */
  wrong: number;
  /** Writes of rows, without the first of each delivery. */
  repeated: number;
  /** In `deliveries`, but never sent. */
  invented: number;
  /** Still `received`, or still in Redis, after all acknowledged deliveries are applied. */
  waiting: number;
  failed: number;
  /** Rows of `lost_deliveries`: what the receivers take for lost. */
  reportedLost: number;
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

/** What a fault found that the comparison afterwards cannot see. */
export class PromiseBroken extends Error {}

/** What a fault may ask of the sender, and of the deliveries of its run. */
export interface Run {
  /** Acknowledgements so far. */
  acknowledged: () => number;
  /**
   * Sends new callbacks about other records, as any other of the run.
   *
   * @throws PromiseBroken unless all are acknowledged and applied in time
   */
  expectOthersApplied: (withinMs?: number) => Promise<void>;
  /**
   * Sends again what was acknowledged and is not applied.
   *
   * @throws PromiseBroken unless it is applied then
   */
  resendUnapplied: () => Promise<void>;
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
  const broken: string[] = [];
  let injected = false;
  let jobs = 0;
  const end = Date.now() + seconds * 1000;
  const sender = {
    urlOf: inTurn(deployment.urls),
    connections: 256,
    timeoutMs: 5_000,
    ...options.sender,
    rate,
    resendOnFailure: true,
    onAttempt: (attempt: Attempt) => {
      ledger.record(attempt);
      options.onAttempt?.();
    },
    signal: aborting.signal,
  };
  const content = {
    duplicates: 0.05,
    shuffle: true,
    ...(fault.isPresent && { start: Date.now(), present: Date.now }),
  };
  const sending = sendCallbacks(
    callbacksWhile(() => !injected || Date.now() < end, { ...content, seed }),
    sender,
  );
  const run = openRun(deployment, ledger, sender, { ...content, seed: 1_000_003 + seed * 100 });
  try {
    for (const fraction of moments(injections, seed)) {
      await pause(Math.max(0, end - seconds * 1000 * (1 - fraction) - Date.now()));
      await fault.inject(deployment, random, run).catch((error) => {
        if (!(error instanceof PromiseBroken)) throw error;
        broken.push(error.message);
      });
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
  const waiting = await countFinally(() => countWaiting(deployment), fault.healsWithinMs);
  await replayParked(deployment);
  const lost = await countFinally(() => countUnapplied(deployment, ledger), fault.healsWithinMs);
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
    broken,
    ...(await compare(deployment, ledger, before)),
    repeated: (await countRepeatedWrites(deployment.rows)) - repeatedBefore,
    waiting,
    failed: await countDeliveries(deployment, 'failed'),
    reportedLost: await countReportedLost(deployment),
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

function* callbacksWhile(continues: () => boolean, content: CallbacksOptions): Generator<Callback> {
  for (const callback of callbacks(content)) {
    if (!continues()) return;
    yield callback;
  }
}

// At the rate of a long run there is a backlog before them.
const othersWithinMs = 90_000;
const others = 30;

function openRun(
  deployment: Target,
  ledger: Ledger,
  sender: SendOptions,
  content: CallbacksOptions & { seed: number },
): Run {
  const resending = { ...sender, connections: 20, maxAttempts: Number.POSITIVE_INFINITY };
  let { seed } = content;
  return {
    acknowledged: () => ledger.acknowledged,
    expectOthersApplied: async (withinMs = othersWithinMs) => {
      seed += 1; // other businesses, so other records
      const sent = [...callbacks({ ...content, seed, count: others })];
      const timeout = AbortSignal.timeout(withinMs);
      const signal = AbortSignal.any([timeout, sender.signal!]);
      await sendCallbacks(sent, { ...resending, signal });
      const unacknowledged = sent.filter(({ body }) => !ledger.sent.get(body)?.acknowledged).length;
      const ids = [...new Set(sent.map(({ envelope }) => identify(envelope as never)))];
      let unapplied = ids.length;
      const areApplied = async () => {
        unapplied = await countMissing(deployment, ids).catch(() => unapplied);
        return unapplied === 0 || timeout.aborted;
      };
      await until(areApplied, 2 * withinMs, 100);
      if (unacknowledged + unapplied > 0) {
        throw new PromiseBroken(
          `Of ${ids.length} deliveries that have nothing to do with the fault, ${unacknowledged} were not acknowledged and ${unapplied} not applied within ${withinMs} ms`,
        );
      }
    },
    resendUnapplied: async () => {
      const unapplied = await listUnapplied(deployment, ledger);
      await sendCallbacks(unapplied, resending);
      const ids = unapplied.map(({ envelope }) => identify(envelope as never));
      await until(async () => (await countMissing(deployment, ids)) === 0, 60_000, 250).catch((cause) => {
        throw new PromiseBroken('Acknowledged deliveries were sent again, and are not applied', { cause });
      });
    },
  };
}

/** How many of these deliveries are not applied; pages of the table that have none of them may be damaged. */
async function countMissing({ databaseUrl }: Target, ids: readonly string[]): Promise<number> {
  return withSession({ databaseUrl: databaseUrl! }, async (client) => {
    for (const way of ['seqscan', 'hashjoin', 'mergejoin']) await client.query(`set enable_${way} = off`);
    const { rows } = await client.query(
      `select count(*)::int as n from unnest($1::uuid[]) as given (id)
       where not exists (select from applied_deliveries a where a.id = given.id)`,
      [ids],
    );
    return rows[0].n;
  });
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

/** The acknowledged deliveries that are not applied, each once. */
async function listUnapplied(deployment: Target, ledger: Ledger): Promise<Callback[]> {
  const acknowledged = [...ledger.sent.values()].filter((sent) => sent.acknowledged);
  const byId = new Map(acknowledged.map(({ callback }) => [identify(callback.envelope as never), callback]));
  const rows = await deployment.rows(`select id from deliveries where status = 'applied'`);
  for (const { id } of rows) byId.delete(id as string);
  return [...byId.values()];
}

const countUnapplied = async (deployment: Target, ledger: Ledger) =>
  (await listUnapplied(deployment, ledger)).length;

async function countReportedLost({ rows }: Target): Promise<number> {
  const [row] = await rows('select count(*)::int as n from lost_deliveries');
  return row!.n as number;
}

/** Waits until the count is 0, and returns what it is when the time is up. */
async function countFinally(count: () => Promise<number>, withinMs = 60_000): Promise<number> {
  let n = Number.POSITIVE_INFINITY; // while nobody can count
  const isNone = async () => {
    n = await count().catch(() => n);
    return n === 0;
  };
  await until(isNone, withinMs, 250).catch(() => {});
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

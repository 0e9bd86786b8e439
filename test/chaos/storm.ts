import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { identify } from '../../src/intake/identity.ts';
import type { Callback } from '../../src/sandbox/history.ts';
import { seededRandom } from '../../src/sandbox/random.ts';
import { sendCallbacks } from '../../src/sandbox/sender.ts';
import { callbacks } from '../../src/sandbox/variations.ts';
import { paths } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import type { Fault } from './faults.ts';
import { Ledger } from './ledger.ts';
import { newestVersions, versionsInTables } from './model.ts';
import type { Stage } from './stage.ts';
import { countJobs, countWaiting } from './stores.ts';

export interface Outcome {
  fault: string;
  acknowledged: number;
  refused: number;
  /** What the sender saw of those: a status, or why no answer came. */
  refusals: string;
  /** The longest that an answer took. */
  slowestMs: number;
  /** Acknowledged, but not in `deliveries`, or not applied. */
  lost: number;
  /** Rows that are not the newest version that was sent of their thing. */
  wrong: number;
  /** In `deliveries`, but never sent. */
  invented: number;
  /** Still `received`, or still in Redis, though all that was acknowledged is applied. */
  waiting: number;
  failed: number;
  /** In the queue when the last strike was over, whatever their state. */
  jobs: number;
  /** That all processes wrote. */
  logLines: number;
  secondsUntilCaughtUp: number;
}

export interface StormOptions {
  seconds: number;
  rate: number;
  strikes: number;
  seed: number;
}

/** A load on the stage, with a fault that strikes at moments drawn from the seed; then the reckoning. */
export async function storm(stage: Stage, fault: Fault, options: StormOptions): Promise<Outcome> {
  const { seconds, rate, strikes, seed } = options;
  const ledger = new Ledger();
  const giveUp = new AbortController();
  setMaxListeners(0, giveUp.signal);
  const before = await countDeliveries(stage);
  const linesBefore = stage.logLines().length;
  const random = seededRandom(seed, 7);
  let struck = false;
  let jobs = 0;
  const end = Date.now() + seconds * 1000;
  const at = (path: string) => stage.url + path;
  const sending = sendCallbacks(
    callbacksWhile(() => !struck || Date.now() < end, seed),
    {
      urls: {
        receipt: at(paths.receipt),
        consent_form: at(paths.consent_form),
        review_request: at(paths.review_request),
      },
      connections: 256, // those that were told to come again rest, and others are to take their place
      rate,
      resendOnFailure: true,
      timeoutMs: 5_000,
      onAttempt: (attempt) => ledger.note(attempt),
      signal: giveUp.signal,
    },
  );
  try {
    for (const share of moments(strikes, seed)) {
      await pause(Math.max(0, end - seconds * 1000 * (1 - share) - Date.now()));
      await fault.strike(stage, random);
    }
    jobs = await countJobs(stage);
    struck = true;
  } catch (error) {
    giveUp.abort(); // a stage that could not be mended takes no more
    await sending;
    throw error;
  }
  await sending;
  const mended = Date.now();
  const lost = await caughtUp(stage, ledger);
  const waiting = await noneWaiting(stage);
  const secondsUntilCaughtUp = (Date.now() - mended) / 1000;
  return {
    fault: fault.name,
    acknowledged: ledger.acknowledged,
    refused: ledger.refused,
    refusals: [...ledger.refusals].map(([what, count]) => `${count} × ${what}`).join(', '),
    slowestMs: Math.round(ledger.slowestMs),
    lost,
    ...(await compare(stage, ledger, before)),
    waiting,
    failed: await countDeliveries(stage, 'failed'),
    jobs,
    logLines: stage.logLines().length - linesBefore,
    secondsUntilCaughtUp,
  };
}

function* callbacksWhile(goesOn: () => boolean, seed: number): Generator<Callback> {
  for (const callback of callbacks({ seed, duplicates: 0.05, shuffle: true })) {
    if (!goesOn()) return;
    yield callback;
  }
}

/** Moments of the first four fifths of a run, as shares of it. */
function moments(count: number, seed: number): number[] {
  const random = (index: number) => (Math.sin(seed * 9301 + index * 49297) + 1) / 2;
  return Array.from({ length: count }, (_, index) => ((index + random(index)) / count) * 0.8);
}

/** Waits until every acknowledged delivery is applied; how many are not, if that does not come about. */
async function caughtUp(stage: Stage, ledger: Ledger): Promise<number> {
  const acknowledged = [...ledger.sent.values()].filter((sent) => sent.acknowledged);
  const ids = new Set(acknowledged.map(({ callback }) => identify(callback.envelope as never)));
  const missing = async () => {
    const rows = await stage.rows(`select id from deliveries where status = 'applied'`).catch(() => []);
    const applied = new Set(rows.map(({ id }) => id as string));
    return [...ids].filter((id) => !applied.has(id)).length;
  };
  let n = ids.size;
  await until(async () => {
    n = await missing();
    if (n > 0) await pause(250);
    return n === 0;
  }, 60_000).catch(() => {});
  return n;
}

/** Waits until no delivery waits; how many do, if that does not come about. */
async function noneWaiting(stage: Stage): Promise<number> {
  let n = 0;
  await until(async () => {
    n = await countWaiting(stage);
    if (n > 0) await pause(250);
    return n === 0;
  }).catch(() => {});
  return n;
}

async function compare(
  stage: Stage,
  ledger: Ledger,
  before: number,
): Promise<{ wrong: number; invented: number }> {
  const all = [...ledger.sent.values()].map(({ callback }) => callback);
  const byId = new Map(all.map((callback) => [identify(callback.envelope as never), callback]));
  const rows = await stage.rows('select id from deliveries');
  const held = rows.map(({ id }) => id as string).filter((id) => byId.has(id));
  // What was not acknowledged may have been stored all the same, and then counts.
  const expected = newestVersions(held.map((id) => byId.get(id)!));
  const versions = await stage.rows(versionsInTables);
  const found = new Map(versions.map(({ key, id }) => [key as string, id as string]));
  const wrong = [...expected].filter(([key, id]) => found.get(key) !== id).length;
  return { wrong, invented: rows.length - held.length - before };
}

async function countDeliveries(stage: Stage, status?: string): Promise<number> {
  const where = status ? `where status = '${status}'` : '';
  const [row] = await stage.rows(`select count(*)::int as n from deliveries ${where}`);
  return row!.n as number;
}

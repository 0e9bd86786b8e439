import { createHmac } from 'node:crypto';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { documentedPath, type Family } from '../callbacks/families/family.ts';
import type { Callback } from './history.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The URL that a callback is sent to. */
export type UrlOf = (callback: { readonly family: Family; readonly event: string }) => string;

/**
 * The registered URLs below `base`: for each event its documented path; where the environment sets the paths of the
 * family and the documented one is not among them, the first of these.
 */
export function registeredUrls(base: string, env: Env = {}): UrlOf {
  return ({ family, event }) => {
    const path = documentedPath(family, event);
    const { variable, default: documented } = family.path;
    const list = variable && env[variable];
    const paths = list ? list.split(',').map((text) => text.trim()) : documented;
    return below(base, paths.includes(path) ? path : paths[0]!);
  };
}

/** The one URL below `base` that takes every event. */
export function eventsUrl(base: string, env: Env = {}): UrlOf {
  const url = below(base, env.EVENTS_PATH || '/events');
  return () => url;
}

const below = (base: string, path: string) => base.replace(/\/+$/, '') + path;

export interface SendOptions {
  /** See registeredUrls and eventsUrl. */
  readonly urlOf: UrlOf;
  /** Signs each attempt. */
  readonly signingKey?: string | undefined;
  /** Default: X-Webhook-Signature. */
  readonly signatureHeader?: string | undefined;
  /** Callbacks in flight at once, each on its own connection. Default: 10. */
  readonly connections?: number;
  /** Callbacks per second. Default: no limit. */
  readonly rate?: number | undefined;
  /** Retries after a network error, a time-out, 408, 425, 429 and 5xx, 11 times: about 25 s. Default: no. */
  readonly resendOnFailure?: boolean;
  /** Ends the sequence; the pending responses are awaited. */
  readonly signal?: AbortSignal;
  /** Called after every attempt and awaited before the connection's next one. */
  readonly onAttempt?: (attempt: Attempt, soFar: () => Summary) => void | Promise<void>;
}

/** The outcome of one attempt to deliver a callback. */
export interface Attempt {
  readonly callback: Callback;
  /** 1 for the first. */
  readonly attempt: number;
  /** Undefined if there was no response. */
  readonly status?: number;
  /** The status with `accepted` or `duplicate`, or the code of the error (ECONNREFUSED, TimeoutError, ...). */
  readonly outcome: string;
  /** The response was a 2xx. */
  readonly acknowledged: boolean;
  /** From sending to the end of the response, milliseconds. */
  readonly latencyMs: number;
  /** From a Retry-After in seconds, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

export interface Summary {
  /** Callbacks taken from the sequence. */
  readonly callbacks: number;
  readonly acknowledged: number;
  /** Valid callbacks that were not acknowledged. */
  readonly unacknowledged: number;
  readonly resends: number;
  /** Attempts by outcome: `200 accepted`, `200 duplicate`, `422`, `ECONNREFUSED`, ... */
  readonly outcomes: Readonly<Record<string, number>>;
  /** The latencies of the attempts with a response, milliseconds. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly seconds: number;
}

const timeoutMs = 10_000;
const maxAttempts = 12;
const maxRetryAfterMs = 60_000;
const maxBacklogMs = 1_000;

/**
 * Sends callbacks as the platform does (section 4.5), in order if there is only one connection. The next one is taken when
 * a connection is free, so that an endless sequence needs no more memory than a short one.
 *
 * @throws only what `onAttempt` or the sequence throws
 */
export async function sendCallbacks(callbacks: Iterable<Callback>, options: SendOptions): Promise<Summary> {
  const { connections = 10, rate, signal } = options;
  const tally = startTally();
  const queue = paced(callbacks, rate, signal);

  async function deliver(callback: Callback): Promise<Attempt> {
    for (let count = 1; ; count++) {
      const attempt = await post(callback, count, options);
      tally.addAttempt(attempt);
      await options.onAttempt?.(attempt, tally.summary);
      if (!options.resendOnFailure || !isRetryable(attempt) || count >= maxAttempts) return attempt;
      const backoff = Math.min(100 * 2 ** (count - 1), 5_000) * (0.5 + Math.random() / 2);
      await sleep(Math.min(attempt.retryAfterMs ?? 0, maxRetryAfterMs) + backoff, signal);
      if (signal?.aborted) return attempt;
    }
  }

  // An error on one connection closes the queue of all.
  async function work(): Promise<void> {
    for await (const callback of queue) tally.addCallback(await deliver(callback));
  }

  await Promise.all(Array.from({ length: connections }, work));
  return tally.summary();
}

/** The callbacks, at most `rate` a second, until the signal aborts. */
async function* paced(callbacks: Iterable<Callback>, rate: number | undefined, signal?: AbortSignal) {
  if (signal?.aborted) return;
  let turn = performance.now();
  for (const callback of callbacks) {
    yield callback;
    if (rate !== undefined) {
      const now = performance.now();
      turn = nextTurn(turn, now, rate);
      await sleep(turn - now, signal);
    }
    if (signal?.aborted) return;
  }
}

/** The time of the next evenly spaced turn, on the clock of `now` (milliseconds); a late sender catches up one second at most. */
export function nextTurn(turn: number, now: number, perSecond: number): number {
  return Math.max(turn + 1000 / perSecond, now - maxBacklogMs);
}

/** Sends one callback once. A failure is an Attempt too. */
async function post(callback: Callback, attempt: number, options: SendOptions): Promise<Attempt> {
  const { urlOf, signingKey, signatureHeader = 'X-Webhook-Signature' } = options;
  const { body } = callback;
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signingKey !== undefined) headers[signatureHeader] = signatureOf(signingKey, body);
  const signal = AbortSignal.timeout(timeoutMs);
  const beganAt = performance.now();
  const sinceBegan = () => performance.now() - beganAt;
  try {
    const response = await fetch(urlOf(callback), {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal,
    });
    // Other receivers may respond with any text.
    const [, state] = /"status": ?"(accepted|duplicate)"/.exec(await response.text()) ?? [];
    const { status, ok: acknowledged } = response;
    const outcome = state ? `${status} ${state}` : String(status);
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1_000 || undefined;
    return { callback, attempt, status, outcome, acknowledged, latencyMs: sinceBegan(), retryAfterMs };
  } catch (error) {
    const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
    const outcome = code ?? name ?? 'unknown error';
    return { callback, attempt, outcome, acknowledged: false, latencyMs: sinceBegan() };
  }
}

/**
 * The value of the signature header: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">`. The
 * interface shows no signing (section 6); this is the receiver's scheme, implemented separately so that a mistake in
 * its verifier is not mirrored.
 */
function signatureOf(key: string, body: string): string {
  const seconds = Math.floor(Date.now() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`;
}

const isRetryable = ({ acknowledged, status }: Attempt): boolean =>
  !acknowledged && (status === undefined || status >= 500 || [408, 425, 429].includes(status));

/** Ends when the signal aborts, too. */
async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // Timers have a resolution of a millisecond.
  if (milliseconds < 1 || signal?.aborted) return;
  await setTimeout(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
}

/** Counts attempts in constant memory. */
function startTally() {
  const beganAt = performance.now();
  const latencies = createHistogram();
  const outcomes: Record<string, number> = {};
  const counts = { callbacks: 0, acknowledged: 0, unacknowledged: 0, resends: 0 };
  const inMs = (nanoseconds: number) => Math.round(nanoseconds / 1e4) / 100;

  return {
    addAttempt({ outcome, status, latencyMs, attempt }: Attempt): void {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (attempt > 1) counts.resends++;
      if (status !== undefined) latencies.record(Math.max(1, Math.round(latencyMs * 1e6)));
    },
    addCallback({ acknowledged, callback }: Attempt): void {
      counts.callbacks++;
      if (acknowledged) counts.acknowledged++;
      else if (callback.invalid === undefined) counts.unacknowledged++;
    },
    summary: (): Summary => ({
      ...counts,
      outcomes: { ...outcomes },
      latencyMs: {
        p50: inMs(latencies.percentile(50)),
        p99: inMs(latencies.percentile(99)),
        max: inMs(latencies.max),
      },
      seconds: (performance.now() - beganAt) / 1000,
    }),
  };
}

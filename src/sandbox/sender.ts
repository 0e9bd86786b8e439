import { createHmac } from 'node:crypto';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { documentedPath, type Family } from '../callbacks/families/family.ts';
import type { Callback } from './history.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export type UrlOf = (callback: { readonly family: Family; readonly event: string }) => string;

/** Each event to its documented path; where the environment sets other paths of the family, to the first of these. */
export function registeredUrls(base: string, env: Env = {}): UrlOf {
  return ({ family, event }) => {
    const path = documentedPath(family, event);
    const { variable, default: documented } = family.path;
    const list = variable && env[variable];
    const paths = list ? list.split(',').map((text) => text.trim()) : documented;
    return below(base, paths.includes(path) ? path : paths[0]!);
  };
}

const below = (base: string, path: string) => base.replace(/\/+$/, '') + path;

export interface SendOptions {
  readonly urlOf: UrlOf;
  readonly signingKey?: string | undefined;
  /** Default: X-Webhook-Signature. */
  readonly signatureHeader?: string | undefined;
  /** Callbacks in flight at once, each on its own connection. Default: 10. */
  readonly connections?: number;
  /** Callbacks per second. Default: no limit. */
  readonly rate?: number | undefined;
  /** Retries after a network error, a time-out, 408, 425, 429 and 5xx, 11 times: about 25 s. */
  readonly resendOnFailure?: boolean;
  /** Called after the last attempt of each callback. */
  readonly onSent?: () => void;
  /** Ends the sequence; the pending responses are awaited. */
  readonly signal?: AbortSignal;
}

interface Attempt {
  /** Undefined if there was no response. */
  readonly status?: number;
  readonly outcome: string;
  readonly acknowledged: boolean;
  readonly latencyMs: number;
  readonly retryAfterMs?: number | undefined;
}

export interface Summary {
  readonly callbacks: number;
  readonly acknowledged: number;
  readonly unacknowledged: number;
  readonly resends: number;
  /** Attempts by outcome: `200 accepted`, `200 duplicate`, `422`, `ECONNREFUSED`, ... */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Attempts with a response, until its end. */
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
 */
export async function sendCallbacks(callbacks: Iterable<Callback>, options: SendOptions): Promise<Summary> {
  const { connections = 10, rate, resendOnFailure, signal } = options;
  const beganAt = performance.now();
  const latencies = createHistogram();
  const outcomes: Record<string, number> = {};
  const counts = { callbacks: 0, acknowledged: 0, unacknowledged: 0, resends: 0 };

  async function isDelivered(callback: Callback): Promise<boolean> {
    for (let count = 1; ; count++) {
      const { outcome, status, latencyMs, acknowledged, retryAfterMs } = await post(callback, options);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (count > 1) counts.resends++;
      if (status !== undefined) latencies.record(Math.max(1, Math.round(latencyMs * 1e6)));
      const isFinal = acknowledged || !resendOnFailure || !isRetryable(status) || count >= maxAttempts;
      if (isFinal) return acknowledged;
      const backoff = Math.min(100 * 2 ** (count - 1), 5_000) * (0.5 + Math.random() / 2);
      await sleep(Math.min(retryAfterMs ?? 0, maxRetryAfterMs) + backoff, signal);
      if (signal?.aborted) return false;
    }
  }

  const queue = paced(callbacks, rate, signal);
  async function work(): Promise<void> {
    for await (const callback of queue) {
      const isAcknowledged = await isDelivered(callback);
      counts.callbacks++;
      options.onSent?.();
      if (isAcknowledged) counts.acknowledged++;
      else counts.unacknowledged++;
    }
  }
  await Promise.all(Array.from({ length: connections }, work));

  const inMs = (nanoseconds: number) => Math.round(nanoseconds / 1e4) / 100;
  const percentile = (share: number) => inMs(latencies.percentile(share));
  const latencyMs = { p50: percentile(50), p99: percentile(99), max: inMs(latencies.max) };
  return { ...counts, outcomes, latencyMs, seconds: (performance.now() - beganAt) / 1000 };
}

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

/** The time of the next evenly spaced turn, in milliseconds; a late sender catches up one second at most. */
export const nextTurn = (turn: number, now: number, perSecond: number): number =>
  Math.max(turn + 1000 / perSecond, now - maxBacklogMs);

async function post(callback: Callback, options: SendOptions): Promise<Attempt> {
  const { urlOf, signingKey, signatureHeader = 'X-Webhook-Signature' } = options;
  const { body } = callback;
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signingKey !== undefined) headers[signatureHeader] = signatureOf(signingKey, body);
  const signal = AbortSignal.timeout(timeoutMs);
  const beganAt = performance.now();
  const sinceBegan = () => performance.now() - beganAt;
  try {
    const init = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
    const response = await fetch(urlOf(callback), init);
    // Other receivers may respond with any text.
    const [, state] = /"status": ?"(accepted|duplicate)"/.exec(await response.text()) ?? [];
    const { status, ok: acknowledged } = response;
    const outcome = state ? `${status} ${state}` : String(status);
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1_000 || undefined;
    return { status, outcome, acknowledged, latencyMs: sinceBegan(), retryAfterMs };
  } catch (error) {
    const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
    return { outcome: code ?? name ?? 'unknown error', acknowledged: false, latencyMs: sinceBegan() };
  }
}

/** The value of the signature header, by a code of its own: a mistake of the receiver's verifier is not mirrored. */
export function signatureOf(key: string, body: string): string {
  const seconds = Math.floor(Date.now() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`;
}

const isRetryable = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || [408, 425, 429].includes(status);

async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // Timers have a resolution of a millisecond.
  if (milliseconds < 1 || signal?.aborted) return;
  await setTimeout(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
}

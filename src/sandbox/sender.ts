import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
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
  /** Callbacks per second. Default: no limit. */
  readonly rate?: number | undefined;
  readonly onSent?: () => void;
}

export interface Summary {
  readonly callbacks: number;
  readonly acknowledged: number;
  /** Callbacks by outcome: `200 accepted`, `200 duplicate`, `422`, `ECONNREFUSED`, ... */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly seconds: number;
}

const timeoutMs = 10_000;

/** At once, where there is no rate. */
const connections = 10;

/** Sends callbacks as the platform does (section 4.5), each once. */
export async function sendCallbacks(callbacks: readonly Callback[], options: SendOptions): Promise<Summary> {
  const { rate, onSent } = options;
  const beganAt = performance.now();
  const outcomes: Record<string, number> = {};
  let [acknowledged, sent] = [0, 0];
  const queue = callbacks.values();
  const sendNext = async () => {
    for (const callback of queue) {
      if (rate) await sleep(Math.max(0, beganAt + (sent++ * 1000) / rate - performance.now()));
      const { outcome, isAcknowledged } = await post(callback, options);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (isAcknowledged) acknowledged++;
      onSent?.();
    }
  };
  await Promise.all(Array.from({ length: rate ? 1 : connections }, sendNext));
  const seconds = (performance.now() - beganAt) / 1000;
  return { callbacks: callbacks.length, acknowledged, outcomes, seconds };
}

async function post(callback: Callback, options: SendOptions) {
  const { urlOf, signingKey, signatureHeader = 'X-Webhook-Signature' } = options;
  const { body } = callback;
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signingKey !== undefined) headers[signatureHeader] = signatureOf(signingKey, body);
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const init = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
    const response = await fetch(urlOf(callback), init);
    // Other receivers may respond with any text.
    const [, state] = /"status": ?"(accepted|duplicate)"/.exec(await response.text()) ?? [];
    const { status, ok: isAcknowledged } = response;
    return { outcome: state ? `${status} ${state}` : String(status), isAcknowledged };
  } catch (error) {
    const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
    return { outcome: code ?? name ?? 'unknown error', isAcknowledged: false };
  }
}

/** The value of the signature header, by a code of its own: a mistake of the receiver's verifier is not mirrored. */
export function signatureOf(key: string, body: string): string {
  const seconds = Math.floor(Date.now() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`;
}

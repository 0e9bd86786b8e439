import { createHmac } from 'node:crypto';
import type { Callback } from './history.ts';
import type { UrlOf } from './urls.ts';

/** Where callbacks are sent, and how they are signed (section 4.5). */
export interface Destination {
  /** See registeredUrls and eventsUrl. */
  readonly urlOf: UrlOf;
  /** If set, each attempt is signed. */
  readonly signingKey?: string | undefined;
  /** Default: X-Webhook-Signature. */
  readonly signatureHeader?: string | undefined;
}

/** The outcome of one attempt to deliver a callback. */
export interface Attempt {
  readonly callback: Callback;
  /** 1 for the first. */
  readonly attempt: number;
  /** Undefined if there was no response. */
  readonly status?: number | undefined;
  /** The status as text, or the code of the error (ECONNREFUSED, TimeoutError, ...). */
  readonly outcome: string;
  /** Whether the response was a 2xx. */
  readonly acknowledged: boolean;
  /** The delivery's id, from the response. */
  readonly id?: string | undefined;
  /** `accepted` or `duplicate`, from the response. */
  readonly state?: string | undefined;
  /** From sending to the end of the response, milliseconds. */
  readonly latencyMs: number;
  /** From a Retry-After in seconds, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** Sends one callback once. A failure is an Attempt too; nothing is raised. */
export async function post(
  callback: Callback,
  { urlOf, signingKey, signatureHeader = 'X-Webhook-Signature' }: Destination,
  { attempt, timeoutMs }: { attempt: number; timeoutMs: number },
): Promise<Attempt> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signingKey !== undefined) headers[signatureHeader] = signatureOf(signingKey, callback.body);
  const began = performance.now();
  const attempted = () => ({ callback, attempt, latencyMs: performance.now() - began });
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { body } = callback;
    const response = await fetch(urlOf(callback), {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal,
    });
    const { id, status: state } = parseObject(await response.text());
    return {
      ...attempted(),
      status: response.status,
      outcome: String(response.status),
      acknowledged: response.ok,
      id: typeof id === 'string' ? id : undefined,
      state: state === 'accepted' || state === 'duplicate' ? state : undefined,
      retryAfterMs: Number(response.headers.get('retry-after') ?? 0) * 1_000 || undefined,
    };
  } catch (error) {
    const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
    return { ...attempted(), outcome: code ?? name ?? 'unknown error', acknowledged: false };
  }
}

/** Other receivers may respond with any text. */
function parseObject(text: string): { id?: unknown; status?: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/**
 * The value of the signature header: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">`. The
 * interface shows no signing (section 6); this is the receiver's scheme, implemented separately so that a mistake in
 * its verifier is not mirrored.
 */
export function signatureOf(key: string, body: string | Uint8Array, seconds = Math.floor(Date.now() / 1000)) {
  const digest = createHmac('sha256', key).update(`${seconds}.`).update(body).digest('hex');
  return `t=${seconds},v1=${digest}`;
}

import { createHmac } from 'node:crypto';
import type { Dispatcher } from 'undici';
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
  /** The status as text, or the code of the error (ECONNREFUSED, UND_ERR_HEADERS_TIMEOUT, ...). */
  readonly outcome: string;
  /** Whether the response was a 2xx. */
  readonly acknowledged: boolean;
  /** The delivery's id, from the response. */
  readonly id?: string | undefined;
  /** `accepted` or `duplicate`, from the response. */
  readonly state?: string | undefined;
  /** From sending to the end of the response, milliseconds. */
  readonly latencyMs: number;
  /** From Retry-After, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** Sends one callback once. A failure is an Attempt too; nothing is raised. */
export async function post(
  dispatcher: Dispatcher,
  callback: Callback,
  destination: Destination,
  attempt = 1,
): Promise<Attempt> {
  const { urlOf, signingKey, signatureHeader = 'X-Webhook-Signature' } = destination;
  const url = new URL(urlOf(callback));
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signingKey !== undefined) headers[signatureHeader] = signatureOf(signingKey, callback.body);
  const began = performance.now();
  const latencyMs = () => performance.now() - began;
  try {
    const response = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers,
      body: callback.body,
    });
    const { id, status: state } = parseObject(await response.body.text());
    const status = response.statusCode;
    return {
      callback,
      attempt,
      status,
      outcome: String(status),
      acknowledged: status >= 200 && status < 300,
      id: typeof id === 'string' ? id : undefined,
      state: state === 'accepted' || state === 'duplicate' ? state : undefined,
      latencyMs: latencyMs(),
      retryAfterMs: readRetryAfter(response.headers['retry-after']),
    };
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string };
    const outcome = code ?? name ?? 'unknown error';
    return { callback, attempt, outcome, acknowledged: false, latencyMs: latencyMs() };
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

function readRetryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
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

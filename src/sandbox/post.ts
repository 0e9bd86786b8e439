import type { Dispatcher } from 'undici';
import type { Callback, Family } from './history.ts';
import { signatureOf } from './signature.ts';

/** Where and how callbacks are posted (section 4.5). */
export interface Destination {
  /** The full address of each family's path. */
  readonly urls: Readonly<Record<Family, string>>;
  /** Set: each attempt is signed anew. */
  readonly signingKey?: string | undefined;
  /** Default: X-Webhook-Signature. */
  readonly signatureHeader?: string | undefined;
}

/** What came of one attempt to deliver one callback. */
export interface Attempt {
  readonly callback: Callback;
  /** 1 for the first. */
  readonly attempt: number;
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  /** The status as text, or why no answer came (ECONNREFUSED, UND_ERR_HEADERS_TIMEOUT, ...). */
  readonly outcome: string;
  /** A 2xx: the receiver has it now. */
  readonly acknowledged: boolean;
  /** The delivery's id, from the answer. */
  readonly id: string | undefined;
  /** `accepted` or `duplicate`, from the answer. */
  readonly state: string | undefined;
  /** From sending to the end of the answer, milliseconds. */
  readonly latencyMs: number;
  /** What Retry-After asks for, milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Posts one callback once. A failure is an Attempt too; nothing is raised. */
export async function post(
  dispatcher: Dispatcher,
  callback: Callback,
  destination: Destination,
  attempt = 1,
): Promise<Attempt> {
  const { urls, signingKey, signatureHeader = 'X-Webhook-Signature' } = destination;
  const url = new URL(urls[callback.family]);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signingKey !== undefined) headers[signatureHeader] = signatureOf(signingKey, callback.body);
  const began = performance.now();
  const common = { callback, attempt };
  try {
    const response = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers,
      body: callback.body,
    });
    const text = await response.body.text();
    const status = response.statusCode;
    return {
      ...common,
      status,
      outcome: String(status),
      acknowledged: status >= 200 && status < 300,
      ...idAndState(text),
      latencyMs: performance.now() - began,
      retryAfterMs: readRetryAfter(response.headers['retry-after']),
    };
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string };
    return {
      ...common,
      status: undefined,
      outcome: code ?? name ?? 'unknown error',
      acknowledged: false,
      id: undefined,
      state: undefined,
      latencyMs: performance.now() - began,
      retryAfterMs: undefined,
    };
  }
}

function idAndState(text: string): Pick<Attempt, 'id' | 'state'> {
  let answer: { id?: unknown; status?: unknown } | null;
  try {
    answer = JSON.parse(text);
  } catch {
    // Another receiver may answer 200 with any text.
    answer = null;
  }
  return {
    id: typeof answer?.id === 'string' ? answer.id : undefined,
    state: answer?.status === 'accepted' || answer?.status === 'duplicate' ? answer.status : undefined,
  };
}

function readRetryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

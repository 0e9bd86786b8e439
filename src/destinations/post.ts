import type { Dispatcher } from 'undici';
import { request } from 'undici';
import { signedHeaders } from './sign.ts';

/** What is sent. */
export interface Message {
  /** The same for the same version of a record. */
  id: string;
  type: string;
  body: string;
}

/** What came of one attempt. */
export interface Outcome {
  /** undefined: no answer came. */
  status?: number;
  /** The status, or the code of the error. */
  outcome: string;
  ms: number;
  /** The beginning of the answer. */
  answer: string;
  /** How long to wait, as the answer says. */
  retryAfterMs?: number | undefined;
}

export interface PostOptions {
  dispatcher: Dispatcher;
  timeoutMs: number;
  /** Ends the attempt. */
  signal?: AbortSignal | undefined;
}

const answerBytes = 2_048;

export const isAccepted = ({ status }: Outcome): boolean =>
  status !== undefined && status >= 200 && status < 300;

/** Sends a message once; redirects are not followed. Whatever happens is an outcome. */
export async function post(
  url: string,
  message: Message,
  secrets: readonly Buffer[],
  { dispatcher, timeoutMs, signal }: PostOptions,
): Promise<Outcome> {
  const began = performance.now();
  const ended = () => Math.round(performance.now() - began);
  const ending = new AbortController();
  let isLate = false;
  const end = () => ending.abort();
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMs);
  signal?.addEventListener('abort', end);
  try {
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'webhook-receiver',
        ...signedHeaders(message.id, message.body, secrets, new Date()),
      },
      body: message.body,
      signal: ending.signal,
    });
    const { statusCode: status, headers } = response;
    const answer = await readBeginning(response.body);
    // A date is meant by the clock of the destination.
    const now = Date.parse(String(headers.date)) || Date.now();
    const retryAfterMs = parseRetryAfter(headers['retry-after'], now);
    return { status, outcome: String(status), ms: ended(), answer, retryAfterMs };
  } catch (error) {
    return { outcome: isLate ? 'TIMEOUT' : codeOf(error), ms: ended(), answer: '' };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

/** An answer that breaks off, or goes on for too long, has its status all the same. */
async function readBeginning(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= answerBytes) break;
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, answerBytes).toString();
}

/** Never a message: it could repeat the address, which may contain a secret. */
function codeOf(error: unknown): string {
  const { code, name, cause } = error as { code?: string; name?: string; cause?: { code?: string } };
  return String(code ?? cause?.code ?? name ?? 'ERROR').slice(0, 60);
}

/** Seconds, or a date. */
export function parseRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

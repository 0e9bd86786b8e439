import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Operation } from './operations.ts';

/** One answer; `text` is undefined where its body was cut off, too large, or never ended. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string | undefined;
  /** Why there is no text: the library's error code. */
  readonly failure: string | undefined;
}

/** No answer came. `mayHaveReached` is false only where not even a connection came about. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly code: string;
  readonly mayHaveReached: boolean;

  constructor(code: string, mayHaveReached: boolean) {
    super(`no answer (${code})`);
    this.code = code;
    this.mayHaveReached = mayHaveReached;
  }
}

const beforeConnection = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Sends one request and reads its answer, whatever its status; redirects are answers. Raises NoAnswer, or
 * the signal's reason. The dispatcher bounds the size of the answer.
 */
export async function exchange(
  dispatcher: Dispatcher,
  baseUrl: URL,
  operation: Operation,
  request: object,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Answer> {
  const url = new URL(operation.path, baseUrl);
  const sends = operation.method === 'POST';
  if (!sends) url.search = new URLSearchParams(Object.entries(request)).toString();
  try {
    const response = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: operation.method,
      headers: {
        ...headers,
        accept: 'application/json',
        ...(sends ? { 'content-type': 'application/json' } : {}),
      },
      body: sends ? JSON.stringify(request) : null,
      signal,
    });
    const { statusCode: status, headers: received } = response;
    try {
      return { status, headers: received, text: await response.body.text(), failure: undefined };
    } catch (error) {
      signal.throwIfAborted();
      return { status, headers: received, text: undefined, failure: codeOf(error) };
    }
  } catch (error) {
    signal.throwIfAborted();
    const code = codeOf(error);
    throw new NoAnswer(code, !beforeConnection.has(code));
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string };
  return code ?? name ?? 'unknown error';
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Operation } from './operations.ts';

/** One HTTP response; `text` is undefined where its body was cut off, too large, or never ended. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** From its Date; without one, when the request was sent: what it says cannot be older. */
  readonly answeredAt: Date;
  readonly text?: string;
  /** Why there is no text: the library's error code. */
  readonly failure?: string;
}

/** No response came. `mayHaveReached` is false only where not even a connection was made. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  readonly mayHaveReached: boolean;

  constructor(code: string, mayHaveReached: boolean) {
    super(`no response (${code})`);
    this.mayHaveReached = mayHaveReached;
  }
}

const connectErrors = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Sends one request and reads its response, whatever its status; redirects are not followed. Raises NoResponse, or the
 * signal's reason. The dispatcher limits the size of the body.
 */
export async function sendRequest(
  dispatcher: Dispatcher,
  baseUrl: URL,
  operation: Operation,
  request: object,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const fields = new Map(Object.entries(request).filter(([, value]) => value !== undefined));
  const path = operation.path.replace(/\{(\w+)\}/g, (_, field) => {
    const value = fields.get(field);
    fields.delete(field);
    return encodeURIComponent(value);
  });
  const url = new URL(path, baseUrl);
  const hasBody = operation.method === 'POST';
  if (!hasBody) url.search = new URLSearchParams([...fields]).toString();
  const type = 'application/json';
  const sentAt = Date.now();
  let start: Pick<HttpResponse, 'status' | 'headers' | 'answeredAt'> | undefined;
  try {
    const response = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: operation.method,
      headers: { ...headers, accept: type, 'content-type': hasBody ? type : undefined },
      body: hasBody ? JSON.stringify(Object.fromEntries(fields)) : null,
      signal,
    });
    const { statusCode: status, headers: received } = response;
    const answeredAt = new Date(Date.parse(String(received.date)) || sentAt);
    start = { status, headers: received, answeredAt };
    return { ...start, text: await response.body.text() };
  } catch (error) {
    signal.throwIfAborted();
    const failure = codeOf(error);
    if (start) return { ...start, failure };
    throw new NoResponse(failure, !connectErrors.has(failure));
  }
}

/** The error's code or name, which quotes nothing. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string };
  return code ?? name ?? 'unknown error';
}

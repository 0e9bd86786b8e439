import type { Operation } from './operations.ts';

/** One HTTP response; `text` is undefined where its body was cut off, too large, or never ended. */
export interface HttpResponse {
  readonly status: number;
  /** The header Retry-After. */
  readonly retryAfter: string | null;
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

const maxBytes = 2 * 1024 * 1024;

/**
 * Sends one request and reads its response of at most 2 MiB, whatever its status; redirects are not followed.
 *
 * @throws NoResponse; the signal's reason
 */
export async function sendRequest(
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
  let start: Pick<HttpResponse, 'status' | 'retryAfter' | 'answeredAt'> | undefined;
  try {
    const response = await fetch(url, {
      method: operation.method,
      headers: { ...headers, accept: type, ...(hasBody && { 'content-type': type }) },
      body: hasBody ? JSON.stringify(Object.fromEntries(fields)) : null,
      redirect: 'manual',
      signal,
    });
    const answeredAt = new Date(Date.parse(response.headers.get('date') ?? '') || sentAt);
    start = { status: response.status, retryAfter: response.headers.get('retry-after'), answeredAt };
    return { ...start, text: await readText(response) };
  } catch (error) {
    signal.throwIfAborted();
    const failure = codeOf((error as Error).cause ?? error);
    if (start) return { ...start, failure };
    throw new NoResponse(failure, !connectErrors.has(failure));
  }
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw Object.assign(new Error(), { code: 'larger than 2 MiB' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The error's code or name, which quotes nothing. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string };
  return code ?? name ?? 'unknown error';
}

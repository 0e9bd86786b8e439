import type { Operation, ResponseOf } from './operations.ts';
import { readResponse } from './read-response.ts';
import { type ErrorContext, Unavailable } from './service-errors.ts';
import { withTimeout } from './time-limit.ts';

/** What is sent, and what no error may quote of it. */
export interface Outgoing {
  readonly request: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

/** Where requests go. */
export interface Endpoint {
  readonly baseUrl: URL;
  readonly serviceIdentifierField: string;
  readonly timeoutMs: number;
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
 * One attempt: sends a request and reads its response of at most 2 MiB; redirects are not followed.
 *
 * @throws ServiceError; the outer signal's reason
 */
export function sendRequest<O extends Operation>(
  endpoint: Endpoint,
  operation: O,
  { request, headers, secrets }: Outgoing,
  context: ErrorContext,
  outer?: AbortSignal,
): Promise<ResponseOf<O>> {
  const { method } = operation;
  const fields = new Map(Object.entries(request).filter(([, value]) => value !== undefined));
  const path = operation.path.replace(/\{(\w+)\}/g, (_, field) => {
    const value = fields.get(field);
    fields.delete(field);
    return encodeURIComponent(value);
  });
  const url = new URL(path, endpoint.baseUrl);
  const type = 'application/json';
  const hasBody = method === 'POST';
  if (!hasBody) url.search = new URLSearchParams([...fields]).toString();
  const init = {
    ...{ method, redirect: 'manual' as const },
    headers: { ...headers, accept: type, ...(hasBody && { 'content-type': type }) },
    body: hasBody ? JSON.stringify(Object.fromEntries(fields)) : null,
  };
  const timedOut = (message: string) => new Unavailable(message, context, 'time-out', true);
  return withTimeout(endpoint.timeoutMs, timedOut, outer, async (signal) => {
    const sentAt = Date.now();
    const response = await fetch(url, { ...init, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      const code = codeOf(error);
      throw new Unavailable(`no response (${code})`, context, 'network', !connectErrors.has(code));
    });
    const body = await readText(response).catch((error: unknown) => {
      signal.throwIfAborted();
      return { failure: codeOf(error) };
    });
    const { serviceIdentifierField } = endpoint;
    return readResponse(response, { ...body, sentAt }, operation, serviceIdentifierField, secrets, context);
  });
}

async function readText({ body }: Response): Promise<{ text: string }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw Object.assign(new Error(), { code: 'larger than 2 MiB' });
    chunks.push(chunk);
  }
  // It takes a byte order mark away, which JSON.parse refuses.
  return { text: new TextDecoder().decode(Buffer.concat(chunks)) };
}

/** The code or name of an error, or of its cause, which quotes nothing. */
export function codeOf(error: unknown): string {
  const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
  return code ?? name ?? 'unknown error';
}

import type { Operation, ResponseOf } from './operations.ts';
import { redact } from './redact.ts';
import { retryAfterMs } from './retry.ts';
import {
  type ErrorContext,
  Rejected,
  Unauthorized,
  Unavailable,
  UnreadableResponse,
} from './service-errors.ts';

/**
 * The parsed body of a 2xx, if one is documented: its known fields, the service identifier under the name svc, and `raw`, the
 * body as received.
 *
 * @throws Unauthorized (401), Rejected (another 4xx), Unavailable (5xx), UnreadableResponse
 */
export function readResponse<O extends Operation>(
  { status, headers }: Response,
  { text, failure, sentAt }: { text?: string; failure?: string; sentAt: number },
  operation: O,
  identifierField: string,
  secrets: readonly string[],
  request: ErrorContext,
): ResponseOf<O> {
  // Tokens, a person's profile and signing keys, which no pattern recognises.
  const isSecret = status < 300 && operation.group !== 'search';
  const context = {
    ...request,
    status,
    code: text === undefined || status < 400 ? undefined : readErrorCode(text, secrets),
    body: text === undefined || isSecret ? undefined : redact(text, secrets),
    retryAfterMs: retryAfterMs(headers.get('retry-after')),
  };
  const message = `the platform responded with ${status}`;
  if (status === 401) throw new Unauthorized(message, context);
  if (status >= 400 && status < 500) throw new Rejected(message, context);
  if (status >= 500) throw new Unavailable(message, context, 'status', true);
  if (status < 200 || status > 299) throw new UnreadableResponse(`${message}, not followed`, context);
  if (!operation.response) return undefined as ResponseOf<O>;
  if (text === undefined) throw new UnreadableResponse(`incomplete body (${failure})`, context);

  const received = parseJson(text);
  if (received === undefined) throw new UnreadableResponse('the body is not JSON', context);
  const named = operation.group === 'registration' ? renameIdentifier(received, identifierField) : received;
  const parsed = operation.response.safeParse(named);
  if (parsed.success) {
    // Without a Date, what it says cannot be older than the request.
    const answeredAt = new Date(Date.parse(headers.get('date') ?? '') || sentAt);
    const times = operation.group === 'reading' && { answeredAt };
    return { ...(parsed.data as object), raw: received, ...times } as ResponseOf<O>;
  }
  const issues = parsed.error.issues.map((i) => `${i.path.join('.') || 'body'}: ${i.message}`).join('; ');
  const hint = /(^|; )svc: /.test(issues) ? ` (serviceIdentifierField is "${identifierField}")` : '';
  throw new UnreadableResponse(`the body does not match the interface${hint}: ${issues}`, context, received);
}

function renameIdentifier(body: unknown, field: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { [field]: svc, ...rest } = body as Record<string, unknown>;
  return svc === undefined ? rest : { ...rest, svc };
}

/** The code of `{error: {code}}` or `{code}`, the documented shapes that have one; a word without values of the request. */
function readErrorCode(text: string, secrets: readonly string[]): string | undefined {
  const body = parseJson(text) as { code?: unknown; error?: { code?: unknown } } | null | undefined;
  const code = String(body?.error?.code ?? body?.code ?? '');
  return /^[\w.-]{1,64}$/.test(code) && redact(code, secrets) === code ? code : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the parser's own error: it quotes the text.
    return undefined;
  }
}

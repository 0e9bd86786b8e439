import { type ErrorContext, Rejected, Unauthorized, Unavailable, UnreadableResponse } from './errors.ts';
import type { Operation } from './operations.ts';
import { redact } from './redact.ts';
import { retryAfterMs } from './retry.ts';
import type { HttpResponse } from './send-request.ts';

/**
 * The parsed body of a 2xx, if one is documented: its known fields, the service identifier under the name svc, and `raw`, the
 * body as received. Raises Unauthorized (401), Rejected (another 4xx), Unavailable (5xx) or UnreadableResponse (others).
 */
export function readResponse(
  response: HttpResponse,
  operation: Operation,
  identifierField: string,
  secrets: readonly string[],
  request: Pick<ErrorContext, 'operation' | 'transactionId'>,
): unknown {
  const { status, text } = response;
  // Tokens, a person's profile and signing keys, which no pattern recognises.
  const isSecret = status < 300 && operation.group !== 'search';
  const context = {
    ...request,
    status,
    code: text === undefined || status < 400 ? undefined : readErrorCode(text, secrets),
    body: text === undefined || isSecret ? undefined : redact(text, secrets),
    retryAfterMs: retryAfterMs(response.retryAfter),
  };
  const message = `the platform responded with ${status}`;
  if (status === 401) throw new Unauthorized(message, context);
  if (status >= 400 && status < 500) throw new Rejected(message, context);
  if (status >= 500) throw new Unavailable(message, context, { reason: 'status', mayHaveReached: true });
  if (status < 200 || status > 299) throw new UnreadableResponse(`${message}, not followed`, context);
  if (!operation.response) return undefined;
  if (text === undefined) throw new UnreadableResponse(`incomplete body (${response.failure})`, context);

  const received = parseJson(text);
  if (received === undefined) throw new UnreadableResponse('the body is not JSON', context);
  const named = operation.group === 'registration' ? renameIdentifier(received, identifierField) : received;
  const parsed = operation.response.safeParse(named);
  if (parsed.success) {
    const answeredAt = operation.group === 'reading' && { answeredAt: response.answeredAt };
    return { ...(parsed.data as object), raw: received, ...answeredAt };
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

/** The code of `{error: {code}}` or `{code}`, the documented shapes that have one. */
function readErrorCode(text: string, secrets: readonly string[]): string | undefined {
  const body = parseJson(text) as { code?: unknown; error?: { code?: unknown } } | null | undefined;
  const code = body?.error?.code ?? body?.code;
  // A word of another kind may be a value of the request.
  return typeof code === 'string' && /^[a-z_]{1,64}$/i.test(code) && !secrets.includes(code)
    ? code
    : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the parser's own error: it quotes the text.
    return undefined;
  }
}

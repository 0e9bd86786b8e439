import { conceal } from './conceal.ts';
import { type ErrorContext, Rejected, Unauthorized, Unavailable, UnreadableResponse } from './errors.ts';
import type { Answer } from './exchange.ts';
import type { Operation } from './operations.ts';
import { retryAfterMs } from './retry.ts';

/**
 * The parsed response of an answer. Raises Unauthorized (401), Rejected (other 4xx), Unavailable (5xx) or
 * UnreadableResponse (anything else that is not a readable 2xx). The identifier's real field comes out as svc.
 */
export function readAnswer(
  answer: Answer,
  operation: Operation,
  identifierField: string,
  secrets: readonly string[],
  of: Pick<ErrorContext, 'operation' | 'transactionId'>,
): unknown {
  const { status, text } = answer;
  // A registration that succeeded answers with tokens and a person's profile, which no pattern can tell.
  const safe = text !== undefined && !(operation.registers && status < 300);
  const context = { ...of, status, body: safe ? conceal(text, secrets) : undefined };
  if (status === 401) throw new Unauthorized('the service answered 401', context);
  const message = `the service answered ${status}`;
  const asked = retryAfterMs(answer.headers['retry-after']);
  if (status >= 400 && status < 500) throw new Rejected(message, context, asked);
  if (status >= 500) {
    throw new Unavailable(message, context, { reason: 'status', mayHaveReached: true, retryAfterMs: asked });
  }
  if (status < 200 || status > 299) throw new UnreadableResponse(`${message}, not followed`, context);
  if (text === undefined) throw new UnreadableResponse(`no whole body (${answer.failure})`, context);

  const received = parseJson(text);
  if (received === undefined) throw new UnreadableResponse('the body is not JSON', context);
  const named = operation.registers ? withSvc(received, identifierField) : received;
  const read = operation.response.safeParse(named);
  if (read.success) return read.data;
  const paths = read.error.issues.map((i) => `${i.path.join('.') || 'body'}: ${i.message}`).join('; ');
  const hint = /(^|; )svc: /.test(paths) ? ` (serviceIdentifierField is "${identifierField}")` : '';
  throw new UnreadableResponse(`the body does not fit${hint}: ${paths}`, context, received);
}

function withSvc(body: unknown, field: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { [field]: svc, ...rest } = body as Record<string, unknown>;
  return svc === undefined ? rest : { ...rest, svc };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the parser's own error: it quotes the text.
    return undefined;
  }
}

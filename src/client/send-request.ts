import { retryAfterMs, withDeadline } from '../common/timeouts.ts';
import type { Operation } from './operation.ts';
import { parseJson, redact, secretsOf } from './redact.ts';
import * as errors from './service-errors.ts';

export interface EndpointOptions {
  /** http or https, with or without a path prefix, without credentials. */
  readonly baseUrl: string | URL;
  /** Sent with reads. */
  readonly clientId?: string | undefined;
  /** The real name of the response field that the interface calls svc (section 2.5). Default: svc. */
  readonly serviceIdentifierField?: string;
  /** Time-out of one attempt, milliseconds; a call takes three times as long at most, a read 5 minutes. Default: 10000. */
  readonly timeoutMs?: number;
}

export interface Endpoint extends Required<EndpointOptions> {
  readonly baseUrl: URL;
}

export interface OutgoingRequest {
  /** An object; undefined: it has none. */
  readonly fields: unknown;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined: the operation takes none. */
  readonly token?: string;
  readonly context: errors.ErrorContext;
}

/** The base address with a path that ends in a slash; undefined if it is not valid. */
export function parseBaseUrl(input: string | URL): URL | undefined {
  if (!URL.canParse(String(input))) return undefined;
  const url = new URL(input);
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    return undefined;
  }
  // Without it, resolving a path would replace the prefix's last segment.
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** @throws TypeError for an invalid base address or number */
export function parseEndpoint(options: EndpointOptions): Endpoint {
  const { clientId, serviceIdentifierField = 'svc', timeoutMs = 10_000 } = options;
  const baseUrl = parseBaseUrl(options.baseUrl);
  if (!baseUrl)
    throw new TypeError('baseUrl must be an http(s) address without credentials, query or fragment');
  // In Node a longer timer fires at once.
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs <= 0 || timeoutMs > 0x7fffffff)
    throw new TypeError('timeoutMs must be a positive integer below 2^31');
  return { baseUrl, clientId, serviceIdentifierField, timeoutMs };
}

const connectErrors =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * One attempt. Redirects are not followed.
 *
 * @returns see `ResponseOf`; the service identifier has the name svc
 * @throws Unauthorized, Rejected, Unavailable, UnreadableResponse; the outer signal's reason
 */
export function sendRequest(
  endpoint: Endpoint,
  operation: Operation,
  request: OutgoingRequest,
  outer?: AbortSignal,
): Promise<unknown> {
  const { url, ...init } = encodeRequest(endpoint, operation, request);
  const unavailable = (message: string, reason: 'time-out' | 'network', mayHaveReached = true) =>
    new errors.Unavailable(message, request.context, reason, mayHaveReached);
  const send = async (signal: AbortSignal) => {
    const sentAt = Date.now();
    const response = await fetch(url, { ...init, redirect: 'manual', signal }).catch((error: unknown) => {
      const code = codeOf(error);
      throw unavailable(`no response (${code})`, 'network', !connectErrors.test(code));
    });
    const text = await response.text().catch((error: Error) => error);
    return readResponse(endpoint, operation, request, { response, sentAt, text });
  };
  const timedOut = () => unavailable(`timed out after ${endpoint.timeoutMs} ms`, 'time-out');
  return withDeadline(endpoint.timeoutMs, outer, send, timedOut);
}

function encodeRequest(
  { baseUrl, clientId }: Endpoint,
  { method, group, path }: Operation,
  request: OutgoingRequest,
) {
  const fields = withoutUndefined(request.fields);
  const filled = path.replace(/\{(\w+)\}/, (_, name) => encodeURIComponent(fields[name]));
  const url = new URL(filled, baseUrl);
  const headers: Record<string, string> = withoutUndefined(request.headers);
  headers.accept = 'application/json';
  if (request.token !== undefined) headers.authorization = `Bearer ${request.token}`;
  // The older read operations take the token here.
  if (request.token !== undefined && group === 'reading') headers.auth = request.token;
  if (clientId !== undefined && group === 'reading') headers['client-id'] = clientId;
  if (method === 'GET') url.search = new URLSearchParams(fields).toString();
  if (method !== 'POST') return { method, url, headers };
  headers['content-type'] = 'application/json';
  return { method, url, headers, body: JSON.stringify(fields) };
}

const withoutUndefined = (record: unknown) =>
  Object.fromEntries(Object.entries(record ?? {}).filter(([, value]) => value !== undefined));

function readResponse(
  { serviceIdentifierField }: Endpoint,
  { group, response: schema }: Operation,
  { fields, headers: sent, token, context: ofRequest }: OutgoingRequest,
  { response, sentAt, text }: { response: Response; sentAt: number; text: string | Error },
): unknown {
  const { status, headers } = response;
  const secrets = secretsOf([token, fields, sent]);
  const isRead = typeof text === 'string';
  // Tokens, a person's profile and signing keys, which no pattern recognises.
  const isSecret = status < 300 && group !== 'search';
  const context = {
    ...ofRequest,
    status,
    code: isRead && status >= 400 ? readErrorCode(text, secrets) : undefined,
    body: isRead && !isSecret ? redact(text, secrets) : undefined,
    retryAfterMs: retryAfterMs(headers.get('retry-after')),
  };
  const message = `the platform responded with ${status}`;
  if (status === 401) throw new errors.Unauthorized(message, context);
  if (status >= 400 && status < 500) throw new errors.Rejected(message, context);
  if (status >= 500) throw new errors.Unavailable(message, context, 'status', true);
  if (status < 200 || status > 299) throw new errors.UnreadableResponse(`${message}, not followed`, context);
  if (!schema) return undefined;
  if (!isRead) throw new errors.UnreadableResponse(`incomplete body (${codeOf(text)})`, context);

  const raw = parseJson(text);
  if (raw === undefined) throw new errors.UnreadableResponse('the body is not JSON', context);
  const named = group === 'registration' ? renameIdentifier(raw, serviceIdentifierField) : raw;
  const parsed = schema.safeParse(named);
  if (parsed.success) {
    // Without a Date, what it says cannot be older than the request.
    const answeredAt = new Date(Date.parse(headers.get('date') ?? '') || sentAt);
    return Object.assign({}, parsed.data, { raw }, group === 'reading' && { answeredAt });
  }
  const issues = parsed.error.issues.map((i) => `${i.path.join('.') || 'body'}: ${i.message}`).join('; ');
  const hint = /(^|; )svc: /.test(issues) ? ` (serviceIdentifierField is "${serviceIdentifierField}")` : '';
  const problem = `the body does not match the interface${hint}: ${issues}`;
  throw new errors.UnreadableResponse(problem, context, raw);
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

/** The code or name of an error, or of its cause, which quotes nothing. */
export function codeOf(error: unknown): string {
  const { code, name } = ((error as Error).cause ?? error) as { code?: string; name?: string };
  return code ?? name ?? 'unknown error';
}

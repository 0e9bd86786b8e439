import type { z } from 'zod';
import { type CallOptions, type Connection, call, type RegistrationOptions } from './call.ts';
import { type Operation, type OperationName, operations, type ResponseOf } from './operations.ts';
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts';
import type { TokenSource } from './token-source.ts';

export interface ServiceClientOptions {
  /** Base address of the platform, http or https, a path prefix included; no credentials in it. */
  readonly baseUrl: string | URL;
  readonly token: TokenSource;
  /** The client id, which reads send in a header. Default: not sent. */
  readonly clientId?: string | undefined;
  /** The real name of the response field that the interface calls svc (section 2.5). Default: svc. */
  readonly serviceIdentifierField?: string;
  /** Time-out of one attempt, milliseconds; a call takes three times as long at most, a read 5 minutes. Default: 10000. */
  readonly timeoutMs?: number;
  readonly retry?: Partial<RetryPolicy>;
}

type OptionsOf<O extends Operation> = O['group'] extends 'registration' ? RegistrationOptions : CallOptions;
type Call<O extends Operation> = O['request'] extends z.ZodType
  ? (request: z.input<O['request']>, options?: OptionsOf<O>) => Promise<ResponseOf<O>>
  : (options?: OptionsOf<O>) => Promise<ResponseOf<O>>;

/** The operations of section 4, those of subscriptions, and those that read records. Each raises a ServiceError, or the reason of an aborted signal. */
export type ServiceClient = { readonly [Name in OperationName]: Call<(typeof operations)[Name]> };

/** A client of the service. Raises TypeError for an invalid base address or number. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const connection: Connection = {
    baseUrl: requireBaseUrl(options.baseUrl),
    token: options.token,
    serviceIdentifierField: options.serviceIdentifierField ?? 'svc',
    timeoutMs: positive('timeoutMs', options.timeoutMs ?? 10_000),
    clientId: options.clientId,
    retry: { ...defaultRetryPolicy, ...options.retry },
  };
  const callTo = (operation: Operation) =>
    operation.request
      ? (request: unknown, o: CallOptions = {}) => call(connection, operation, request, o)
      : (o: CallOptions = {}) => call(connection, operation, {}, o);
  const calls = Object.entries(operations).map(([name, operation]) => [name, callTo(operation)]);
  return Object.fromEntries(calls) as unknown as ServiceClient;
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

/** The same; raises TypeError. */
export function requireBaseUrl(input: string | URL): URL {
  const baseUrl = parseBaseUrl(input);
  if (baseUrl) return baseUrl;
  throw new TypeError('baseUrl must be an http(s) address without credentials, query or fragment');
}

export function positive(name: string, value: number): number {
  // In Node a longer timer fires at once.
  if (Number.isSafeInteger(value) && value > 0 && value <= 0x7fffffff) return value;
  throw new TypeError(`${name} must be a positive integer below 2^31`);
}

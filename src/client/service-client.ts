import { Agent } from 'undici';
import { readBaseAddress } from './base-address.ts';
import { type CallOptions, type Connection, call, type RegistrationOptions } from './call.ts';
import type { ServiceError } from './errors.ts';
import { operations } from './operations.ts';
import type {
  CreateAddressByAadhaarRequest,
  CreateAddressByAadhaarResponse,
  CreateAddressByMobileRequest,
  CreateAddressByMobileResponse,
  VerifyAadhaarOtpRequest,
  VerifyAadhaarOtpResponse,
} from './registration-schemas.ts';
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts';
import type { SearchRequest, SearchResponse } from './search-schemas.ts';
import type { TokenSource } from './token-source.ts';

export interface ServiceClientOptions {
  /** Base address of the service, http or https, a path prefix included; no credentials in it. */
  readonly baseUrl: string | URL;
  readonly token: TokenSource;
  /** The real name of the response field that the interface calls svc (section 2.5). Default: svc. */
  readonly serviceIdentifierField?: string;
  /** Longest time of one attempt, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
  /** Longest time of a call with its retries, milliseconds. Default: three attempts' time. */
  readonly totalTimeoutMs?: number;
  /** Largest answer that is read, bytes. Default: 2 MiB. */
  readonly maxResponseBytes?: number;
  /** Connections kept per client. Default: 16. */
  readonly connections?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** Told before each retry, with the failure and the pause in milliseconds. */
  readonly onRetry?: (error: ServiceError, pauseMs: number) => void;
}

/** The operations of section 4. Each raises a ServiceError, or the reason of an aborted signal. */
export interface ServiceClient {
  /** Section 4.1. Never sent again once it may have arrived: an OTP works once. */
  verifyAadhaarOtp(
    request: VerifyAadhaarOtpRequest,
    options?: RegistrationOptions,
  ): Promise<VerifyAadhaarOtpResponse>;
  /** Section 4.2. Never sent again once it may have arrived. */
  createAddressByMobile(
    request: CreateAddressByMobileRequest,
    options?: RegistrationOptions,
  ): Promise<CreateAddressByMobileResponse>;
  /** Section 4.3. Never sent again once it may have arrived. */
  createAddressByAadhaar(
    request: CreateAddressByAadhaarRequest,
    options?: RegistrationOptions,
  ): Promise<CreateAddressByAadhaarResponse>;
  /** Section 4.4. Tried again on network errors, time-outs, 429 (as Retry-After asks) and 5xx. */
  searchDrugsAndLabs(request: SearchRequest, options?: CallOptions): Promise<SearchResponse>;
  /** Ends the idle connections once the calls under way are over. */
  close(): Promise<void>;
}

/** A client of the service. Raises TypeError for a base address or a number that cannot be used. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const timeoutMs = positive('timeoutMs', options.timeoutMs ?? 10_000);
  const connection: Connection = {
    dispatcher: new Agent({
      connections: positive('connections', options.connections ?? 16),
      maxResponseSize: positive('maxResponseBytes', options.maxResponseBytes ?? 2 * 1024 * 1024),
      connect: { timeout: timeoutMs },
      // The attempt's own limit covers headers and body.
      headersTimeout: 0,
      bodyTimeout: 0,
    }),
    baseUrl: readBaseAddress(options.baseUrl),
    token: options.token,
    serviceIdentifierField: options.serviceIdentifierField ?? 'svc',
    timeoutMs,
    totalTimeoutMs: positive('totalTimeoutMs', options.totalTimeoutMs ?? 3 * timeoutMs),
    retry: { ...defaultRetryPolicy, ...options.retry },
    onRetry: options.onRetry,
  };
  return {
    verifyAadhaarOtp: (request, o = {}) => call(connection, operations.verifyAadhaarOtp, request, o),
    createAddressByMobile: (request, o = {}) =>
      call(connection, operations.createAddressByMobile, request, o),
    createAddressByAadhaar: (request, o = {}) =>
      call(connection, operations.createAddressByAadhaar, request, o),
    searchDrugsAndLabs: (request, o = {}) => call(connection, operations.searchDrugsAndLabs, request, o),
    close: () => connection.dispatcher.close(),
  };
}

function positive(name: string, value: number): number {
  // A longer timer than this one fires at once in Node.
  if (Number.isSafeInteger(value) && value > 0 && value <= 0x7fffffff) return value;
  throw new TypeError(`${name} must be a positive integer below 2^31`);
}

import { Agent } from 'undici';
import type { z } from 'zod';
import { type CallOptions, type Connection, call, type RegistrationOptions } from './call.ts';
import type { ServiceError } from './errors.ts';
import { type OperationName, operations, type ResponseOf } from './operations.ts';
import {
  type AppointmentsPage,
  type AppointmentsPageQuery,
  type AppointmentsQuery,
  readAppointments,
  readAppointmentsPage,
} from './read-appointments.ts';
import { type PatientsQuery, readPatients } from './read-patients.ts';
import type { Appointment, PatientProfile } from './reading-schemas.ts';
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts';
import type { TokenSource } from './token-source.ts';
import { waitForLimit } from './wait-for-limit.ts';

export interface ServiceClientOptions {
  /** Base address of the platform, http or https, a path prefix included; no credentials in it. */
  readonly baseUrl: string | URL;
  readonly token: TokenSource;
  /** The client id, which List patients takes in a header. Default: not sent. */
  readonly clientId?: string | undefined;
  /** The real name of the response field that the interface calls svc (section 2.5). Default: svc. */
  readonly serviceIdentifierField?: string;
  /** Time-out of one attempt, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
  /** Time-out of a call with its retries, milliseconds. Default: 3 × timeoutMs. */
  readonly totalTimeoutMs?: number;
  /** How long a read waits in total while the platform limits the rate of calls, milliseconds. Default: 300000. */
  readonly rateLimitTimeoutMs?: number;
  /** Largest response body, bytes. Default: 2 MiB. */
  readonly maxResponseBytes?: number;
  /** Size of the connection pool. Default: 16. */
  readonly connections?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** Called before each retry with the error and the pause in milliseconds. */
  readonly onRetry?: (error: ServiceError, pauseMs: number) => void;
}

type Response<Name extends OperationName> = Promise<ResponseOf<(typeof operations)[Name]>>;
type Call<Name extends OperationName, Options = RegistrationOptions> = (
  request: z.input<(typeof operations)[Name]['request']>,
  options?: Options,
) => Response<Name>;

/** The operations of section 4, those of subscriptions, and those that read records. Each raises a ServiceError, or the reason of an aborted signal. */
export interface ServiceClient {
  /** Section 4.1. Not retried once it may have reached the platform: an OTP works once. */
  verifyAadhaarOtp: Call<'verifyAadhaarOtp'>;
  /** Section 4.2. Not retried once it may have reached the service. */
  createAddressByMobile: Call<'createAddressByMobile'>;
  /** Section 4.3. Not retried once it may have reached the service. */
  createAddressByAadhaar: Call<'createAddressByAadhaar'>;
  /** Section 4.4. Retried after network errors, time-outs, 429 (respecting Retry-After) and 5xx. */
  searchDrugsAndLabs: Call<'searchDrugsAndLabs', CallOptions>;
  /** Retried like the search. The response contains the signing keys: do not log it. */
  listSubscriptions(options?: CallOptions): Response<'listSubscriptions'>;
  /** Not retried once it may have reached the service. Rejected (400) if the endpoint has a subscription already. */
  createSubscription: Call<'createSubscription', CallOptions>;
  /** Retried like the search. Rejected (404) if there is none, unless an attempt without a response may have deleted it. */
  deleteSubscription: Call<'deleteSubscription', CallOptions>;
  /**
   * The appointments of any range of days, or of a patient: read in windows of 7 days, page by page, as they are taken. One
   * that shifts to the next page meanwhile comes twice; the later one is newer.
   */
  appointments(query: AppointmentsQuery, options?: CallOptions): AsyncGenerator<Appointment, void>;
  /** One page, with the time of its response. Like every read, it is retried like the search, and waits for a rate limit. */
  appointmentsPage(query: AppointmentsPageQuery, options?: CallOptions): Promise<AppointmentsPage>;
  /** Rejected (404) if there is none. With `partner_id: 1`, `id` is the partner's. */
  appointment: Call<'appointment', CallOptions>;
  prescription: Call<'prescription', CallOptions>;
  admission: Call<'admission', CallOptions>;
  /** Rejected (404) with the code TRANSACTION_ID_NOT_FOUND if there is none. */
  transactionStatus: Call<'transactionStatus', CallOptions>;
  /** The names of the business, its clinics and doctors. */
  directory(options?: CallOptions): Response<'directory'>;
  /** The patients, page by page. Personal data: do not log it. */
  patients(query?: PatientsQuery, options?: CallOptions): AsyncGenerator<PatientProfile, void>;
  /** Closes the connections once the pending calls have ended. */
  close(): Promise<void>;
}

/** A client of the service. Raises TypeError for an invalid base address or number. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const baseUrl = requireBaseUrl(options.baseUrl);
  const timeoutMs = positive('timeoutMs', options.timeoutMs ?? 10_000);
  const connection: Connection = {
    dispatcher: new Agent({
      connections: positive('connections', options.connections ?? 16),
      maxResponseSize: positive('maxResponseBytes', options.maxResponseBytes ?? 2 * 1024 * 1024),
      connect: { timeout: timeoutMs },
      // The time-out of the attempt covers headers and body.
      headersTimeout: 0,
      bodyTimeout: 0,
    }),
    baseUrl,
    token: options.token,
    serviceIdentifierField: options.serviceIdentifierField ?? 'svc',
    timeoutMs,
    totalTimeoutMs: positive('totalTimeoutMs', options.totalTimeoutMs ?? 3 * timeoutMs),
    rateLimitTimeoutMs: positive('rateLimitTimeoutMs', options.rateLimitTimeoutMs ?? 300_000),
    clientId: options.clientId,
    retry: { ...defaultRetryPolicy, ...options.retry },
    onRetry: options.onRetry,
  };
  const callTo =
    <Name extends OperationName>(name: Name): Call<Name> =>
    (request, o = {}) =>
      call(connection, operations[name], request, o);
  const readTo =
    <Name extends OperationName>(name: Name): Call<Name> =>
    (request, o = {}) =>
      waitForLimit(() => callTo(name)(request, o), connection, o.signal);
  const listAppointments = readTo('listAppointments');
  return {
    verifyAadhaarOtp: callTo('verifyAadhaarOtp'),
    createAddressByMobile: callTo('createAddressByMobile'),
    createAddressByAadhaar: callTo('createAddressByAadhaar'),
    searchDrugsAndLabs: callTo('searchDrugsAndLabs'),
    listSubscriptions: (o) => callTo('listSubscriptions')({}, o),
    createSubscription: callTo('createSubscription'),
    deleteSubscription: callTo('deleteSubscription'),
    appointments: (query, o) => readAppointments(listAppointments, query, o),
    appointmentsPage: (query, o) => readAppointmentsPage(listAppointments, query, o),
    appointment: readTo('appointment'),
    prescription: readTo('prescription'),
    admission: readTo('admission'),
    transactionStatus: readTo('transactionStatus'),
    directory: (o) => readTo('directory')({}, o),
    patients: (query = {}, o) => readPatients(readTo('listPatients'), query, o),
    close: () => connection.dispatcher.close(),
  };
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

import type { z } from 'zod';
import * as reading from './reading-schemas.ts';
import * as registration from './registration-schemas.ts';
import * as search from './search-schemas.ts';
import * as subscriptions from './subscription-schemas.ts';
import type { Answered, WithRaw } from './with-raw.ts';

/** One operation: of section 4, or of the platform's public documentation. */
export interface Operation {
  readonly name: string;
  /** Its title in section 4. */
  readonly summary?: string;
  /**
   * A registration takes the headers of section 4.1 and returns a service identifier. A reading takes the token in two
   * headers, waits for a rate limit, and says when it was answered.
   */
  readonly group: 'registration' | 'search' | 'subscriptions' | 'reading' | 'login';
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path below the base address, without a leading slash; `{field}` stands for a field of the request. */
  readonly path: string;
  /** Undefined: it has no parameters. */
  readonly request: z.ZodType | undefined;
  /** Undefined: no response body is documented, and none is read. */
  readonly response: z.ZodType | undefined;
  /** The documented status of a success. */
  readonly status: 200 | 201;
  /** Whether it may be sent twice. An OTP works once, so a registration is not repeatable. */
  readonly repeatable: boolean;
}

export type ResponseOf<O extends Operation> = O['response'] extends z.ZodType
  ? O['group'] extends 'reading'
    ? Answered<z.output<O['response']>>
    : WithRaw<z.output<O['response']>>
  : undefined;

const registers = { group: 'registration', method: 'POST', status: 200, repeatable: false } as const;
const reads = { method: 'GET', status: 200, repeatable: true } as const;
const readsRecords = { ...reads, group: 'reading' } as const;
const ofSubscriptions = {
  group: 'subscriptions',
  path: 'notification/v1/connect/webhook/subscriptions',
} as const;

/** The four operations of sections 4.1 to 4.4, the three of subscriptions, and those that read records. */
export const operations = {
  /** Section 4.1. Not retried once it may have reached the platform: an OTP works once. */
  verifyAadhaarOtp: {
    ...registers,
    name: 'verifyAadhaarOtp',
    summary: 'Verify OTP',
    path: 'abdm/na/v1/registration/aadhaar/verify',
    request: registration.verifyAadhaarOtpRequest,
    response: registration.verifyAadhaarOtpResponse,
  },
  /** Section 4.2. Not retried once it may have reached the platform. */
  createAddressByMobile: {
    ...registers,
    name: 'createAddressByMobile',
    summary: 'Create health address by mobile',
    path: 'abdm/na/v1/registration/mobile/create-phr',
    request: registration.createAddressByMobileRequest,
    response: registration.createAddressByMobileResponse,
  },
  /** Section 4.3. Not retried once it may have reached the platform. */
  createAddressByAadhaar: {
    ...registers,
    name: 'createAddressByAadhaar',
    summary: 'Create health address by Aadhaar',
    path: 'abdm/na/v1/registration/aadhaar/create-phr',
    request: registration.createAddressByAadhaarRequest,
    response: registration.createAddressByAadhaarResponse,
  },
  /** Section 4.4. Retried after network errors, time-outs, 429 (respecting Retry-After) and 5xx. */
  searchDrugsAndLabs: {
    ...reads,
    name: 'searchDrugsAndLabs',
    summary: 'Search drugs and laboratory tests',
    group: 'search',
    path: 'medical-db/v1/drugs-and-labs',
    request: search.searchRequest,
    response: search.searchResponse,
  },
  /** Retried like the search. The response contains the signing keys: do not log it. */
  listSubscriptions: {
    ...reads,
    ...ofSubscriptions,
    name: 'listSubscriptions',
    request: undefined,
    response: subscriptions.listSubscriptionsResponse,
  },
  /** Not retried once it may have reached the platform. Rejected (400) if the endpoint has a subscription already. */
  createSubscription: {
    ...ofSubscriptions,
    name: 'createSubscription',
    method: 'POST',
    request: subscriptions.createSubscriptionRequest,
    response: subscriptions.createSubscriptionResponse,
    status: 201,
    repeatable: false,
  },
  /** Retried like the search. Rejected (404) if there is none, unless an attempt without a response may have deleted it. */
  deleteSubscription: {
    ...ofSubscriptions,
    name: 'deleteSubscription',
    method: 'DELETE',
    path: `${ofSubscriptions.path}/{id}`,
    request: subscriptions.deleteSubscriptionRequest,
    response: undefined,
    status: 200,
    repeatable: true,
  },
  /** A page of the appointments of some days. Like every read, it is retried like the search, and waits for a rate limit. */
  listAppointments: {
    ...readsRecords,
    name: 'listAppointments',
    path: 'dr/v1/appointment',
    request: reading.listAppointmentsRequest,
    response: reading.listAppointmentsResponse,
  },
  /** The names of the business, its clinics and doctors. */
  directory: {
    ...readsRecords,
    name: 'directory',
    path: 'dr/v1/business/entities',
    request: undefined,
    response: reading.directoryResponse,
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

/** The schemas that the requests and responses are made of, by the names of section 2. */
export const resources = {
  ProfileToRegister: registration.profileRequest,
  Profile: registration.profile,
  AbhaProfile: registration.abhaProfile,
  ServiceIdentifier: registration.serviceIdentifier,
  Drug: search.drug,
  LabTest: search.labTest,
  Subscription: subscriptions.subscription,
};

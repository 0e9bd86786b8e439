import type { z } from 'zod';
import { type CallOptions, call, type RegistrationOptions } from './call.ts';
import type { Operation, ResponseOf } from './operation.ts';
import readings from './reading-operations.ts';
import registrations, * as registration from './registration-operations.ts';
import searches, { drug, labTest } from './search-operation.ts';
import { parseEndpoint } from './send-request.ts';
import type { ServiceClientOptions } from './settings.ts';
import subscriptions, { subscription } from './subscription-operations.ts';

export type { CallOptions, RegistrationOptions, RetryPolicy } from './call.ts';
export type { Answered, Operation, WithRaw } from './operation.ts';
export * from './reading-operations.ts';
export * from './registration-operations.ts';
export * from './search-operation.ts';
export * from './service-errors.ts';
export type { ServiceClientOptions } from './settings.ts';
export * from './subscription-operations.ts';
export { type LoginOptions, loginTokenSource, type TokenFunction, type TokenSource } from './token-source.ts';

/** The four operations of sections 4.1 to 4.4, the three of subscriptions, and those that read records. */
export const operations = { ...registrations, ...searches, ...subscriptions, ...readings };

export type OperationName = keyof typeof operations;

/** The schemas that the requests and responses are made of, by the names of section 2. */
export const resources = {
  ProfileToRegister: registration.profileRequest,
  Profile: registration.profile,
  AbhaProfile: registration.abhaProfile,
  ServiceIdentifier: registration.serviceIdentifier,
  Drug: drug,
  LabTest: labTest,
  Subscription: subscription,
};

type OptionsOf<O extends Operation> = O['group'] extends 'registration' ? RegistrationOptions : CallOptions;
type Call<O extends Operation> = O['request'] extends z.ZodType
  ? (request: z.input<O['request']>, options?: OptionsOf<O>) => Promise<ResponseOf<O>>
  : (options?: OptionsOf<O>) => Promise<ResponseOf<O>>;

/** The operations. @throws ServiceError; the reason of an aborted signal */
export type ServiceClient = { readonly [Name in OperationName]: Call<(typeof operations)[Name]> };

/** A client of the platform. @throws TypeError for an invalid base address or number */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const connection = {
    ...parseEndpoint(options),
    token: options.token,
    retry: { maxAttempts: 3, firstPauseMs: 200, ...options.retry },
  };
  const callTo = (operation: Operation) =>
    operation.request
      ? (request: unknown, o: CallOptions = {}) => call(connection, operation, request, o)
      : (o: CallOptions = {}) => call(connection, operation, {}, o);
  const calls = Object.entries(operations).map(([name, operation]) => [name, callTo(operation)]);
  return Object.fromEntries(calls) as ServiceClient;
}

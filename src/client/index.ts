import type { z } from 'zod';
import { type CallOptions, call, type RegistrationOptions } from './call.ts';
import type { Operation, ResponseOf } from './operation.ts';
import readings from './reading-operations.ts';
import registrations from './registration-operations.ts';
import searches from './search-operation.ts';
import { parseEndpoint } from './send-request.ts';
import type { ServiceClientOptions } from './settings.ts';
import subscriptions from './subscription-operations.ts';

export type { CallOptions, RegistrationOptions, RetryPolicy } from './call.ts';
export type { Answered, Operation, WithRaw } from './operation.ts';
export * from './reading-operations.ts';
export * from './registration-operations.ts';
export * from './search-operation.ts';
export * from './service-errors.ts';
export type { ServiceClientOptions } from './settings.ts';
export * from './subscription-operations.ts';
export { type LoginOptions, loginTokenSource, type TokenFunction, type TokenSource } from './token-source.ts';

/** Sections 4.1 to 4.4, and operations of the platform's public documentation. */
export const operations = { ...registrations, ...searches, ...subscriptions, ...readings };

export type OperationName = keyof typeof operations;

type OptionsOf<O extends Operation> = O['group'] extends 'registration' ? RegistrationOptions : CallOptions;
type Call<O extends Operation> = O extends { request: z.ZodType }
  ? (request: z.input<O['request']>, options?: OptionsOf<O>) => Promise<ResponseOf<O>>
  : (options?: OptionsOf<O>) => Promise<ResponseOf<O>>;

/** @throws ServiceError; the reason of an aborted signal */
export type ServiceClient = { readonly [Name in OperationName]: Call<(typeof operations)[Name]> };

/** What an operation takes, and what it resolves to: `RequestTo<'verifyAadhaarOtp'>`. */
export type RequestTo<Name extends OperationName> = Parameters<ServiceClient[Name]>[0];
export type ResponseTo<Name extends OperationName> = Awaited<ReturnType<ServiceClient[Name]>>;

/** @throws TypeError for an invalid base address or number */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const connection = {
    ...parseEndpoint(options),
    token: options.token,
    retry: { maxAttempts: 3, firstPauseMs: 200, ...options.retry },
  };
  const callTo = (operation: Operation & { name: string }) =>
    operation.request
      ? (request: unknown, o: CallOptions = {}) => call(connection, operation, request, o)
      : (o: CallOptions = {}) => call(connection, operation, {}, o);
  const calls = Object.entries(operations).map(([name, operation]) => [name, callTo({ name, ...operation })]);
  return Object.fromEntries(calls) as ServiceClient;
}

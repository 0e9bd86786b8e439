export type { CallOptions, RegistrationOptions } from './call.ts';
export {
  type ErrorContext,
  RefusedInput,
  Rejected,
  ServiceError,
  Unauthorized,
  Unavailable,
  UnreadableResponse,
} from './errors.ts';
export { eventNames } from './event-names.ts';
export { type LoginOptions, loginTokenSource } from './login-token-source.ts';
export { type NextStep, nextStep } from './next-step.ts';
export { type Operation, type OperationName, operations, resources } from './operations.ts';
export * from './registration-schemas.ts';
export type { RetryPolicy } from './retry.ts';
export * from './search-schemas.ts';
export { createServiceClient, type ServiceClient, type ServiceClientOptions } from './service-client.ts';
export * from './subscription-schemas.ts';
export type { TokenFunction, TokenSource } from './token-source.ts';
export type { WithRaw } from './with-raw.ts';

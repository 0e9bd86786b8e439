export type { CallOptions, RegistrationOptions } from './call.ts';
export {
  type ErrorCode,
  type ErrorContext,
  RefusedInput,
  Rejected,
  ServiceError,
  Unauthorized,
  Unavailable,
  UnreadableResponse,
} from './errors.ts';
export { type LoginOptions, loginTokenSource } from './login-token-source.ts';
export {
  type Answered,
  type Operation,
  type OperationName,
  operations,
  resources,
  type WithRaw,
} from './operations.ts';
export * from './reading-schemas.ts';
export * from './registration-schemas.ts';
export type { RetryPolicy } from './retry.ts';
export * from './search-schemas.ts';
export {
  type AppointmentsPage,
  type AppointmentsPageQuery,
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from './service-client.ts';
export * from './subscription-schemas.ts';
export type { TokenFunction, TokenSource } from './token-source.ts';

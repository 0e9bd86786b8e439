export type { CallOptions, RegistrationOptions } from './call.js';
export {
  type ErrorContext,
  RefusedInput,
  Rejected,
  ServiceError,
  Unauthorized,
  Unavailable,
  UnreadableResponse,
} from './errors.js';
export { type NextStep, nextStep } from './next-step.js';
export { type Operation, type OperationName, operations } from './operations.js';
export * from './registration-schemas.js';
export type { RetryPolicy } from './retry.js';
export * from './search-schemas.js';
export { createServiceClient, type ServiceClient, type ServiceClientOptions } from './service-client.js';
export type { TokenSource } from './token-source.js';

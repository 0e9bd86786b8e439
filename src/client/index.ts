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
export { eventNames } from './event-names.ts';
export { type LoginOptions, loginTokenSource } from './login-token-source.ts';
export { type NextStep, nextStep } from './next-step.ts';
export { type Operation, type OperationName, operations, resources } from './operations.ts';
export type { AppointmentsPage, AppointmentsPageQuery, AppointmentsQuery } from './read-appointments.ts';
export type { PatientsQuery } from './read-patients.ts';
export * from './reading-schemas.ts';
export * from './registration-schemas.ts';
export type { RetryPolicy } from './retry.ts';
export * from './search-schemas.ts';
export { createServiceClient, type ServiceClient, type ServiceClientOptions } from './service-client.ts';
export * from './subscription-schemas.ts';
export type { TokenFunction, TokenSource } from './token-source.ts';
export type { Answered, WithRaw } from './with-raw.ts';

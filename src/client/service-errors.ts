/** The members of every error of the client. */
export type ErrorContext = Pick<ServiceError, 'operation'> &
  Partial<Pick<ServiceError, 'transactionId' | 'status' | 'code' | 'body' | 'retryAfterMs'>>;

/** The code of an error of the platform; the documented ones, and any other. */
export type ErrorCode =
  | 'rate_limit_exceeded'
  | 'TRANSACTION_ID_NOT_FOUND'
  | 'INVALID_REQUEST'
  | (string & {});

/** Base of the client's errors. None has a `cause`: a library's error may quote the response or the token. */
export abstract class ServiceError extends Error {
  abstract override readonly name: string;
  readonly operation!: string;
  /** The txn_id of the request, if it has one. */
  readonly transactionId: string | undefined;
  readonly status: number | undefined;
  /** The code in the response's body, if it has one, without values of the request and long numbers. */
  readonly code: ErrorCode | undefined;
  /** The response body, redacted: at most 500 characters, without strings of the request and long numbers. */
  readonly body: string | undefined;
  /** From the Retry-After of the response, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, context: ErrorContext) {
    super(`${context.operation}: ${message}`);
    Object.assign(this, context);
  }
}

/** The input does not match the interface; nothing was sent. */
export class RefusedInput extends ServiceError {
  readonly name = 'RefusedInput';
  readonly issues: readonly { readonly path: string; readonly message: string }[];

  constructor(issues: RefusedInput['issues'], context: ErrorContext) {
    super(`invalid input, not sent: ${issues.map((i) => `${i.path}: ${i.message}`).join('; ')}`, context);
    this.issues = issues;
  }
}

/** The platform responded with 401; or there is no valid token: `status` is undefined and nothing was sent. */
export class Unauthorized extends ServiceError {
  readonly name = 'Unauthorized';
}

/** The platform rejected the request: a 4xx other than 401. */
export class Rejected extends ServiceError {
  readonly name = 'Rejected';
}

/** 5xx, time-out or network. */
export class Unavailable extends ServiceError {
  readonly name = 'Unavailable';
  readonly reason: 'status' | 'time-out' | 'network';
  /** False: the request never reached the platform, so its OTP is still valid. */
  readonly mayHaveReached: boolean;

  constructor(
    message: string,
    context: ErrorContext,
    reason: Unavailable['reason'],
    mayHaveReached: boolean,
  ) {
    super(message, context);
    this.reason = reason;
    this.mayHaveReached = mayHaveReached;
  }
}

/** A response that does not match the interface: a redirect, not JSON, too large, other fields. */
export class UnreadableResponse extends ServiceError {
  readonly name = 'UnreadableResponse';
  readonly #received: unknown;

  constructor(message: string, context: ErrorContext, received?: unknown) {
    super(message, context);
    this.#received = received;
  }

  /**
   * The body where it was JSON, personal data and tokens included: an OTP works once, so the response to a
   * registration must not be lost because of one unexpected field. Printing the error never shows it.
   */
  received(): unknown {
    return this.#received;
  }
}

export type ErrorContext = Pick<ServiceError, 'operation'> &
  Partial<Pick<ServiceError, 'transactionId' | 'status' | 'code' | 'body' | 'retryAfterMs'>>;

/** Base of the client's errors. None has a `cause`: a library's error may quote the response or the token. */
export abstract class ServiceError extends Error {
  abstract override readonly name: string;
  readonly operation!: string;
  /** The txn_id of the request, if it has one. */
  readonly transactionId: string | undefined;
  readonly status: number | undefined;
  /** The code in the response's body, such as rate_limit_exceeded; none that has a value of the request or a long number. */
  readonly code: string | undefined;
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

/** A 4xx other than 401. */
export class Rejected extends ServiceError {
  readonly name = 'Rejected';
}

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

/** A response that does not match the interface: a redirect, not JSON, other fields. */
export class UnreadableResponse extends ServiceError {
  readonly name = 'UnreadableResponse';
  readonly #received: unknown;

  constructor(message: string, context: ErrorContext, received?: unknown) {
    super(message, context);
    this.#received = received;
  }

  /**
   * The body if it was JSON, personal data and tokens included: an OTP works once, so one unexpected field must not lose the
   * response to a registration. Printing the error never shows it.
   */
  received(): unknown {
    return this.#received;
  }
}

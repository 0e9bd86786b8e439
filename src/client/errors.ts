/** What every error of the client says. `transactionId` is the txn_id of the request, where it had one. */
export interface ErrorContext {
  readonly operation: string;
  readonly transactionId?: string | undefined;
  readonly status?: number | undefined;
  /** The answer's body: at most 500 characters, what the request carried and every number taken out. */
  readonly body?: string | undefined;
}

/** Base of the client's errors. None has a `cause`: a library's error may quote the answer or the token. */
export abstract class ServiceError extends Error {
  abstract override readonly name: string;
  readonly operation: string;
  readonly transactionId: string | undefined;
  readonly status: number | undefined;
  readonly body: string | undefined;

  constructor(message: string, context: ErrorContext) {
    super(`${context.operation}: ${message}`);
    this.operation = context.operation;
    this.transactionId = context.transactionId;
    this.status = context.status;
    this.body = context.body;
  }
}

/** The input does not fit the interface; nothing was sent. */
export class RefusedInput extends ServiceError {
  readonly name = 'RefusedInput';
  readonly issues: readonly { readonly path: string; readonly message: string }[];

  constructor(issues: RefusedInput['issues'], context: ErrorContext) {
    super(`refused before sending: ${issues.map((i) => `${i.path}: ${i.message}`).join('; ')}`, context);
    this.issues = issues;
  }
}

/** The service answered 401, or no token could be had (then `status` is undefined and nothing was sent). */
export class Unauthorized extends ServiceError {
  readonly name = 'Unauthorized';
}

/** The service refused the request: a 4xx other than 401. */
export class Rejected extends ServiceError {
  readonly name = 'Rejected';
  /** What Retry-After asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, context: ErrorContext, retryAfterMs?: number) {
    super(message, context);
    this.retryAfterMs = retryAfterMs;
  }
}

/** 5xx, time-out or network. */
export class Unavailable extends ServiceError {
  readonly name = 'Unavailable';
  readonly reason: 'status' | 'time-out' | 'network';
  /** False where the request surely never arrived: its OTP is still good. */
  readonly mayHaveReached: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    context: ErrorContext,
    detail: Pick<Unavailable, 'reason' | 'mayHaveReached'> & { retryAfterMs?: number | undefined },
  ) {
    super(message, context);
    this.reason = detail.reason;
    this.mayHaveReached = detail.mayHaveReached;
    this.retryAfterMs = detail.retryAfterMs;
  }
}

/** An answer that is not what the interface shows: a redirect, not JSON, too large, other fields. */
export class UnreadableResponse extends ServiceError {
  readonly name = 'UnreadableResponse';
  readonly #received: unknown;

  constructor(message: string, context: ErrorContext, received?: unknown) {
    super(message, context);
    this.#received = received;
  }

  /**
   * The JSON that came, where it was JSON, personal data and tokens included: an OTP works once, so a
   * registration's answer must not be lost because one field is new. Printing the error never shows it.
   */
  received(): unknown {
    return this.#received;
  }
}

import type { QuarantineReason } from '../store/tables.ts';

/** One fault of a callback: where it is (a JSON pointer) and what to do about it, never what stood there. */
export interface FieldError {
  path: string;
  message: string;
}

/** A JSON pointer (RFC 6901); parts that no documented name could have are left out of it. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${name(String(part))}`).join('');
}

// A key is part of the body too: only what looks like a field's name is repeated in an answer.
function name(part: string): string {
  return /^(?:[A-Za-z_]\w{0,63}|\d{1,6})$/.test(part) ? part : '…';
}

/** Raised for a body that cannot become a delivery as it is; it goes to the quarantine. */
export class Rejection extends Error {
  readonly reason: QuarantineReason;
  readonly errors: readonly FieldError[];
  constructor(
    reason: QuarantineReason,
    message: string,
    errors: readonly FieldError[] = [{ path: '', message }],
  ) {
    super(message);
    this.name = new.target.name;
    this.reason = reason;
    this.errors = errors;
  }
}

export class NotJson extends Rejection {
  constructor(message: string) {
    super('not_json', message);
  }
}

export class InvalidCallback extends Rejection {
  constructor(errors: readonly FieldError[], reason: QuarantineReason = 'invalid') {
    super(reason, 'The body is JSON, but not a callback that belongs here.', errors);
  }
}

/** A callback that belongs at another path. */
export class WrongFamily extends InvalidCallback {
  constructor(events: readonly string[]) {
    super(
      [{ path: '/event', message: `must be one of ${events.join(', ')} at this address` }],
      'wrong_family',
    );
  }
}

/** PostgreSQL refuses the delivery's own data. */
export class DataRefused extends Rejection {
  constructor(message: string) {
    super('refused_by_database', message);
  }
}

/** Raised for a callback of a client or business that is not on the list. It is not kept. */
export class TenantNotAllowed extends Error {
  constructor(field: 'client_id' | 'business_id') {
    super(`This ${field} is not on the list of those that are allowed.`);
    this.name = 'TenantNotAllowed';
  }
}

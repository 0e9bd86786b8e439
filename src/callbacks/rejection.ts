export type QuarantineReason =
  | 'not_json'
  | 'unsupported_media'
  | 'invalid'
  | 'wrong_family'
  | 'refused_by_database';

/** A fault of a callback: its place (a JSON pointer) and what is expected there, never the value. */
export interface FieldError {
  path: string;
  message: string;
}

/** A JSON pointer (RFC 6901) of names as `fieldName` gives them. */
export const pointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${/^\d{1,6}$/.test(String(part)) ? String(part) : fieldName(String(part))}`).join('');

/** A key that looks like a field's name, else `<key>`: a phone number or an id has more than six digits. */
export const fieldName = (key: string): string =>
  /^[A-Za-z_]\w{0,39}$/.test(key) && key.replace(/\D/g, '').length <= 6 ? key : '<key>';

/** It is stored in the quarantine. */
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

  describe(): string {
    return this.errors.map(({ path, message }) => `${path} ${message}`.trim()).join('; ') || this.message;
  }
}

export class NotJson extends Rejection {
  constructor(message: string) {
    super('not_json', message);
  }
}

/** Another media type, charset or encoding. */
export class UnsupportedMedia extends Rejection {
  constructor(advice: string) {
    super('unsupported_media', advice);
  }
}

export class InvalidCallback extends Rejection {
  constructor(errors: readonly FieldError[], reason: QuarantineReason = 'invalid') {
    super(reason, 'The body is not a valid callback for this path.', errors);
  }

  static at(path: string, message: string, reason?: QuarantineReason): InvalidCallback {
    return new InvalidCallback([{ path, message }], reason);
  }
}

/** PostgreSQL rejects the delivery's data. */
export class DataRefused extends Rejection {
  constructor(message: string) {
    super('refused_by_database', message);
  }
}

/** It is not stored. */
export class TenantNotAllowed extends Error {
  constructor(field: 'client_id' | 'business_id') {
    super(`This ${field} is not allowed.`);
    this.name = 'TenantNotAllowed';
  }
}

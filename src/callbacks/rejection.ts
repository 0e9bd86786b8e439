/** Why a body is in the quarantine. */
export const quarantineReasons = [
  'not_json',
  'unsupported_media',
  'invalid',
  'wrong_family',
  'refused_by_database',
] as const;
export type QuarantineReason = (typeof quarantineReasons)[number];

/** A fault of a callback: its place (a JSON pointer) and what is expected there, never the value. */
export interface FieldError {
  path: string;
  message: string;
}

/** A JSON pointer (RFC 6901); keys that do not look like a field's name are replaced by `<key>`. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${name(String(part))}`).join('');
}

function name(part: string): string {
  return /^\d{1,6}$/.test(part) ? part : fieldName(part.replaceAll('\ufeff', ''));
}

const identifier = /^[A-Za-z_]\w{0,39}$/;
// A phone number or an id has more.
const maxDigits = 6;
const digitsIn = (key: string) => key.replace(/\D/g, '').length;

/** A key that looks like a field's name, or `<key>`: it may be a value, such as a name, a phone number or an id. */
export const fieldName = (key: string): string =>
  identifier.test(key) && digitsIn(key) <= maxDigits ? key : '<key>';

/** A body that is not accepted; it is stored in the quarantine. */
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

  /** Each fault with its place, in one line. */
  describe(): string {
    return this.errors.map(({ path, message }) => `${path} ${message}`.trim()).join('; ') || this.message;
  }
}

export class NotJson extends Rejection {
  constructor(message: string) {
    super('not_json', message);
  }
}

/** A body of another media type, charset or encoding, refused before it is read. */
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

/** A callback of a client or business that is not allowed. It is not stored. */
export class TenantNotAllowed extends Error {
  constructor(field: 'client_id' | 'business_id') {
    super(`This ${field} is not allowed.`);
    this.name = 'TenantNotAllowed';
  }
}

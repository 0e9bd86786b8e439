// Requests that cannot be handled; `responses.ts` has the response of each.

/** The base of an error whose message is made of what it is raised with. */
const requestError = <Given extends unknown[]>(message: (...given: Given) => string) =>
  class extends Error {
    constructor(...given: Given) {
      super(message(...given));
      this.name = new.target.name;
    }
  };

export class SignatureMissing extends requestError(
  (header: string) => `The callback is not signed: the header ${header} is missing.`,
) {}

export class SignatureWrong extends requestError(
  () => 'The signature does not match the body under any key.',
) {}

export class SignatureStale extends requestError(
  (toleranceS: number) =>
    `The signature's time is more than ${toleranceS} seconds away from the current time: sign each attempt anew.`,
) {}

export class ClockUnknown extends requestError(
  () =>
    "The signature's time is not that of the receiver's clock, which cannot be compared with another one now.",
) {}

export class AddressNotAllowed extends requestError(
  () => 'This address is not on the list of allowed addresses.',
) {}

export class NotAdmin extends requestError(
  (token: string) => `Send the header Authorization: Bearer <${token}>.`,
) {}

export class QueryInvalid extends requestError((faults: string) => faults) {}

export class CursorUnknown extends requestError(
  () =>
    'What follows this cursor is not known: a backup was restored, or it is another database. Read from the beginning, without after.',
) {}

export class NotFound extends requestError(() => 'Nothing is served at this path.') {}

export class MethodNotAllowed extends requestError(() => 'This path accepts POST only.') {}

export class BodyTooLarge extends requestError(
  (limit: number) =>
    `The body is larger than ${limit} bytes. Health records may be: raise the receiver's BODY_LIMIT.`,
) {}

export class TooManyBodies extends requestError(
  () => 'Too much is being sent at the same time: send the callback again.',
) {}

/** No response is possible. */
export class RequestAborted extends requestError(
  () => 'The sender closed the connection before its request was complete.',
) {}

/** A request that cannot be handled; `responses.ts` has the response of each. */
class RequestError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The base of an error that has always the same message. */
const requestError = (message: string) =>
  class extends RequestError {
    constructor() {
      super(message);
    }
  };

export class SignatureMissing extends RequestError {
  constructor(header: string) {
    super(`The callback is not signed: the header ${header} is missing.`);
  }
}

export class SignatureWrong extends requestError('The signature does not match the body under any key.') {}

export class SignatureStale extends RequestError {
  constructor(toleranceS: number) {
    super(
      `The signature's time is more than ${toleranceS} seconds away from the current time: sign each attempt anew.`,
    );
  }
}

export class AddressNotAllowed extends requestError(
  'This address is not on the list of allowed addresses.',
) {}

export class NotAdmin extends RequestError {
  constructor(token: string) {
    super(`Send the header Authorization: Bearer <${token}>.`);
  }
}

export class HostMissing extends requestError('The header Host is missing.') {}

export class NotFound extends requestError('Nothing is served at this path.') {}

export class MethodNotAllowed extends requestError('This path accepts POST only.') {}

export class UnsupportedMedia extends RequestError {}

export class BodyTooLarge extends RequestError {
  constructor(limit: number) {
    super(`The body is larger than ${limit} bytes.`);
  }
}

export class BodyTooSlow extends requestError('The body arrives too slowly.') {}

export class Busy extends requestError('Too many large bodies are in progress now.') {}

/** No response is possible. */
export class RequestAborted extends requestError(
  'The sender closed the connection before its request was complete.',
) {}

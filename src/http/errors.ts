/** A request that cannot be handled; `responses.ts` has the response of each. */
class RequestError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

export class SignatureMissing extends RequestError {
  constructor() {
    super('The callback is not signed.');
  }
}

export class SignatureWrong extends RequestError {
  constructor() {
    super('The signature does not match the body under any key.');
  }
}

export class SignatureStale extends RequestError {
  constructor(toleranceS: number) {
    super(
      `The signature's time is more than ${toleranceS} seconds away from the current time: sign each attempt anew.`,
    );
  }
}

export class AddressNotAllowed extends RequestError {
  constructor() {
    super('This address is not on the list of allowed addresses.');
  }
}

export class NotAdmin extends RequestError {
  constructor() {
    super('Send the header Authorization: Bearer <admin token>.');
  }
}

export class NotFound extends RequestError {
  constructor() {
    super('Nothing is served at this path.');
  }
}

export class MethodNotAllowed extends RequestError {
  readonly allow: string;
  constructor(allow: string) {
    super(`This path accepts ${allow} only.`);
    this.allow = allow;
  }
}

export class UnsupportedMedia extends RequestError {}

export class BodyTooLarge extends RequestError {
  constructor(limit: number) {
    super(`The body is larger than ${limit} bytes.`);
  }
}

/** Too many large bodies are in progress. */
export class Busy extends RequestError {
  constructor() {
    super('Too many large bodies are in progress now.');
  }
}

/** The sender closed the connection during its request; no response is possible. */
export class RequestAborted extends RequestError {
  constructor() {
    super('The sender closed the connection before its request was complete.');
  }
}

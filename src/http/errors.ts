export class BodyTooLarge extends Error {
  constructor(limit: number) {
    super(`The body is larger than ${limit} bytes.`);
    this.name = 'BodyTooLarge';
  }
}

/** Raised while too many large bodies are in progress. */
export class Busy extends Error {
  constructor() {
    super('Too many large bodies are in progress now.');
    this.name = 'Busy';
  }
}

export class UnsupportedMedia extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'UnsupportedMedia';
  }
}

export class MethodNotAllowed extends Error {
  readonly allow: string;
  constructor(allow: string) {
    super(`This path accepts ${allow} only.`);
    this.name = 'MethodNotAllowed';
    this.allow = allow;
  }
}

export class NotFound extends Error {
  constructor() {
    super('Nothing is served at this path.');
    this.name = 'NotFound';
  }
}

/** Raised if a path is for administrators only. */
export class NotAdmin extends Error {
  constructor() {
    super('Send the header Authorization: Bearer <admin token>.');
    this.name = 'NotAdmin';
  }
}

/** Raised if the sender closed the connection during its request; no response is possible. */
export class RequestAborted extends Error {
  constructor() {
    super('The sender closed the connection before its request was complete.');
    this.name = 'RequestAborted';
  }
}

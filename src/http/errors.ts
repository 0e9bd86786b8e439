export class BodyTooLarge extends Error {
  constructor(limit: number) {
    super(`The body is larger than ${limit} bytes.`);
    this.name = 'BodyTooLarge';
  }
}

/** Raised while too many large bodies are under way. */
export class Busy extends Error {
  constructor() {
    super('Too many large bodies are being received now.');
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
    super(`This address takes ${allow} only.`);
    this.name = 'MethodNotAllowed';
    this.allow = allow;
  }
}

export class NotFound extends Error {
  constructor() {
    super('Nothing is served at this address.');
    this.name = 'NotFound';
  }
}

/** Raised where an address is for administrators only. */
export class NotAdmin extends Error {
  constructor() {
    super('Send Authorization: Bearer and the admin token.');
    this.name = 'NotAdmin';
  }
}

/** Raised when the sender hung up in the middle of its request: there is nobody left to answer. */
export class SenderGone extends Error {
  constructor() {
    super('The sender closed the connection before its request was complete.');
    this.name = 'SenderGone';
  }
}

export class SignatureMissing extends Error {
  constructor() {
    super('The callback is not signed.');
    this.name = 'SignatureMissing';
  }
}

export class SignatureWrong extends Error {
  constructor() {
    super('The signature does not match the body under any key.');
    this.name = 'SignatureWrong';
  }
}

export class SignatureStale extends Error {
  constructor(toleranceS: number) {
    super(`The signature's time is more than ${toleranceS} seconds away from now: sign each attempt anew.`);
    this.name = 'SignatureStale';
  }
}

export class NotAllowed extends Error {
  readonly what: string;
  constructor(what: string) {
    super(`This ${what} is not on the list of those that are allowed.`);
    this.name = 'NotAllowed';
    this.what = what;
  }
}

export class TooManyRequests extends Error {
  readonly retryAfterS: number;
  constructor(retryAfterS: number) {
    super('Too many requests came from this address.');
    this.name = 'TooManyRequests';
    this.retryAfterS = retryAfterS;
  }
}

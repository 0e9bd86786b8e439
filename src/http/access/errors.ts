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

export class AddressNotAllowed extends Error {
  constructor() {
    super('This address is not on the list of those that are allowed.');
    this.name = 'AddressNotAllowed';
  }
}

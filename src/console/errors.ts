/** Raised for a form that did not come from the console's own pages. */
export class Forbidden extends Error {
  constructor() {
    super('This form did not come from a page of the console. Go back, reload the page, and try again.');
    this.name = 'Forbidden';
  }
}

/** Raised where there is no such page, delivery or body. */
export class NotHere extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'NotHere';
  }
}

/** Raised where what was entered makes no sense. */
export class BadInput extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'BadInput';
  }
}

/** Raised where all that may run at once runs already. */
export class Busy extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'Busy';
  }
}

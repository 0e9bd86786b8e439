/** Raised for a form that was not sent by the console's own pages. */
export class Forbidden extends Error {
  override message =
    'This form was not sent by a page of the console. Go back, reload the page, and try again.';
}

/** Raised where there is no such page, delivery or body. */
export class NotFound extends Error {}

/** Raised for invalid input. */
export class BadInput extends Error {}

/** Raised where the maximum number of downloads is running. */
export class Busy extends Error {}

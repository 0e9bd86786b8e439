/** Raised for a form that was not sent by the console's own pages. */
export class Forbidden extends Error {
  override message =
    'This form was not sent by a page of the console. Go back, reload the page, and try again.';
}

export class PageNotFound extends Error {}

export class BadInput extends Error {}

export class TooManyDownloads extends Error {}

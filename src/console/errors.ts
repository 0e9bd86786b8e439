import { type Role, roles } from './rights.ts';

/** Raised for a form that was not sent by the console's own pages. */
export class Forbidden extends Error {
  override message =
    'This form was not sent by a page of the console. Go back, reload the page, and try again.';
}

/** Raised for a form that a page of another origin has sent. */
export class ForeignForm extends Error {}

export class MissingRole extends Error {
  constructor(takes: Role, role: Role | undefined) {
    const enough = roles.slice(roles.indexOf(takes)).join(' or ');
    super(`This takes the role ${enough}. Your role is ${role ?? 'none'}.`);
  }
}

export class PageNotFound extends Error {}

export class BadInput extends Error {}

export class TooManyDownloads extends Error {}

/** Raised instead of doing what cannot be logged. */
export class LogUnavailable extends Error {
  override message = 'The access log cannot be written, so nothing is shown.';
}

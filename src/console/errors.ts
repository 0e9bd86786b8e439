export class PageNotFound extends Error {}

export class BadInput extends Error {}

export class TooManyDownloads extends Error {}

/** The user has none of the roles that a page takes. */
export class NotAllowed extends Error {}

export class PageNotFound extends Error {}

export class BadInput extends Error {}

export class TooManyDownloads extends Error {}

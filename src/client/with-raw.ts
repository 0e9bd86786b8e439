/** A response: the fields of the interface, and the body as received, for those that it does not name. */
export type WithRaw<T> = T & {
  /** It has every field, `svc` under its real name. Nothing of it was validated. */
  readonly raw: Readonly<Record<string, unknown>>;
};

/** A response of a read operation. */
export type Answered<T> = WithRaw<T> & {
  /** The `Date` of the response, accurate to a second; without one, when its request was sent. */
  readonly answeredAt: Date;
};

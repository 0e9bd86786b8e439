/** A response: the fields of the interface, and the body as received, for those that it does not name. */
export type WithRaw<T> = T & {
  /** It has every field, `svc` under its real name. Nothing of it was validated. */
  readonly raw: Readonly<Record<string, unknown>>;
};

import { z } from 'zod';

/** An operation of section 4, or of the platform's public documentation. */
export interface Operation {
  readonly name: string;
  /** Its title in section 4. */
  readonly summary?: string;
  /**
   * A registration takes the headers of section 4.1 and returns a service identifier. A reading takes the token in two
   * headers, waits for a rate limit, and says when it was answered.
   */
  readonly group: 'registration' | 'search' | 'subscriptions' | 'reading' | 'login';
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path below the base address, without a leading slash; `{field}` stands for a field of the request. */
  readonly path: string;
  /** Undefined: it has no parameters. */
  readonly request: z.ZodType | undefined;
  /** Undefined: no response body is documented, and none is read. */
  readonly response: z.ZodType | undefined;
  /** The documented status of a success. */
  readonly status: 200 | 201;
  /** Whether it may be sent twice. An OTP works once, so a registration is not repeatable. */
  readonly repeatable: boolean;
}

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

export type ResponseOf<O extends Operation> = O['response'] extends z.ZodType
  ? O['group'] extends 'reading'
    ? Answered<z.output<O['response']>>
    : WithRaw<z.output<O['response']>>
  : undefined;

/** The members of operations that change nothing. */
export const reads = { method: 'GET', status: 200, repeatable: true } as const;

// Schemas of the platform's documents, in which most fields may be missing or null.
export const text = z.string().nullish();
export const id = z.union([z.string(), z.number()]).transform(String);
export const orEmpty = <T>(items: T[] | null | undefined): T[] => items ?? [];

import { z } from 'zod';

/** An operation of section 4, or of the platform's public documentation. */
export interface Operation {
  /**
   * A registration takes the headers of section 4.1 and returns a service identifier. A reading takes the token in two
   * headers, waits for a rate limit, and has the time of its response.
   */
  readonly group: 'registration' | 'search' | 'subscriptions' | 'reading' | 'login';
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path below the base address, without a leading slash; `{field}` stands for a field of its request. */
  readonly path: string;
  /** Absent: it has no parameters. */
  readonly request?: z.ZodType;
  /** Absent: no response body is documented, and none is read. */
  readonly response?: z.ZodType;
}

export type WithRaw<T> = T & {
  /** The body as received, not validated: it has every field, `svc` under its real name. */
  readonly raw: Readonly<Record<string, unknown>>;
};

export type Answered<T> = WithRaw<T> & {
  /** The `Date` of the response, accurate to a second; without one, when its request was sent. */
  readonly answeredAt: Date;
};

export type ResponseOf<O extends Operation> = O extends { response: z.ZodType }
  ? O['group'] extends 'reading'
    ? Answered<z.output<O['response']>>
    : WithRaw<z.output<O['response']>>
  : undefined;

// Schemas of the platform's documents, in which most fields may be missing or null.
export const text = z.string().nullish();
export const id = z.union([z.string(), z.number()]).transform(String);
export const orEmpty = <T>(items: T[] | null | undefined): T[] => items ?? [];

import { Agent } from 'undici';
import type { CallOptions, Connection } from '../call.ts';
import type { RetryPolicy } from '../retry.ts';
import { positive, requireBaseUrl, type ServiceClientOptions } from '../service-client.ts';
import type { Change, FamilyName, Fields } from './change.ts';
import { type FollowOptions, followChanges, type Pool, type Transaction } from './follow-changes.ts';
import { type Batch, readBatches } from './read-batches.ts';

export interface ChangesClientOptions
  extends Pick<ServiceClientOptions, 'token' | 'timeoutMs' | 'maxResponseBytes' | 'onRetry'> {
  /** Address of the receiver, http or https. */
  readonly baseUrl: string | URL;
  /** The first pause after a failure, and the longest one. There is no limit of attempts. */
  readonly retry?: Partial<Pick<RetryPolicy, 'firstPauseMs' | 'longestPauseMs'>>;
  /** After how long without the first event of a stream pages are read instead, milliseconds. Default: 10000. */
  readonly streamTimeoutMs?: number;
  /** After how long without anything a stream is opened again, milliseconds. The receiver sends something every 15 s. Default: 45000. */
  readonly silenceMs?: number;
  /** Between two pages, where changes cannot be streamed, milliseconds. Default: 2000. */
  readonly pollMs?: number;
}

export interface ChangesQuery<Family extends FamilyName, F extends Fields> {
  /** The cursor of a change; default: from the beginning, that is, all records once. */
  readonly after?: string | undefined;
  /** Default: all. */
  readonly families?: readonly Family[];
  readonly businessId?: string;
  /** Default: all; with a public token, say public for the types. */
  readonly fields?: F;
  /** Changes of a page. Default: 500. */
  readonly limit?: number;
}

/** What `followChanges` reads: the cursor is in the consumer's database. */
export type FollowQuery<Family extends FamilyName, F extends Fields> = Omit<ChangesQuery<Family, F>, 'after'>;

export interface ChangesClient {
  /**
   * The changes of records, without an end: pages until there are no more, then a stream, or pages where that is held back.
   * Outages, 429 and 5xx are retried for as long as they last.
   *
   * @throws ReadFromBeginning, Unauthorized, Rejected, UnreadableResponse, the signal's reason
   */
  changes<Family extends FamilyName = FamilyName, F extends Fields = 'all'>(
    query?: ChangesQuery<Family, F>,
    options?: CallOptions,
  ): AsyncGenerator<Change<Family, F>, void>;
  /**
   * Calls `handle` with each change and a transaction of your PostgreSQL that also saves the cursor, under this name, in the
   * table `followed_changes`: so what `handle` does there is done once. Changes that come together share a transaction. Of
   * several processes that use a name one works, and the others wait to take over. Ends when the signal is aborted.
   *
   * @throws the error of `handle` and of the database, after a rollback; and those of `changes`
   */
  followChanges<Family extends FamilyName = FamilyName, F extends Fields = 'all'>(
    pool: Pool,
    name: string,
    handle: (change: Change<Family, F>, transaction: Transaction) => unknown,
    options?: FollowQuery<Family, F> & FollowOptions,
  ): Promise<void>;
  /** Closes the connections; streams end with an error. */
  close(): Promise<void>;
}

const unstreamedMs = 5 * 60_000;

/** A client of a receiver's feed of changes. Raises TypeError for an invalid base address or number. */
export function createChangesClient(options: ChangesClientOptions): ChangesClient {
  const timeoutMs = positive('timeoutMs', options.timeoutMs ?? 30_000);
  const streamTimeoutMs = positive('streamTimeoutMs', options.streamTimeoutMs ?? 10_000);
  const pollMs = positive('pollMs', options.pollMs ?? 2_000);
  const pages: Connection = {
    dispatcher: new Agent({
      maxResponseSize: positive('maxResponseBytes', options.maxResponseBytes ?? 64 * 1024 * 1024),
      connect: { timeout: timeoutMs },
      headersTimeout: 0,
      bodyTimeout: 0,
    }),
    baseUrl: requireBaseUrl(options.baseUrl),
    token: options.token,
    serviceIdentifierField: '',
    timeoutMs,
    totalTimeoutMs: timeoutMs,
    rateLimitTimeoutMs: 0,
    clientId: undefined,
    // The reading of pages and streams is retried as a whole.
    retry: { firstPauseMs: 200, longestPauseMs: 30_000, ...options.retry, maxAttempts: 1 },
    onRetry: options.onRetry,
  };
  const silenceMs = positive('silenceMs', options.silenceMs ?? 45_000);
  const streams: Connection = {
    ...pages,
    dispatcher: new Agent({ connect: { timeout: timeoutMs }, headersTimeout: 0, bodyTimeout: silenceMs }),
    timeoutMs: streamTimeoutMs,
  };
  const read = <Family extends FamilyName, F extends Fields>(
    { businessId: business_id, ...query }: ChangesQuery<Family, F>,
    signal: AbortSignal | undefined,
  ) =>
    readBatches(
      pages,
      streams,
      { ...query, business_id },
      { pollMs, unstreamedMs },
      signal,
    ) as AsyncGenerator<Batch<Change<Family, F>>, void>;
  return {
    async *changes(query = {}, { signal } = {}) {
      for await (const { changes } of read(query, signal)) yield* changes;
    },
    followChanges: (pool, name, handle, { signal, reset, ...query } = {}) =>
      followChanges(pool, name, handle, (after) => read({ ...query, after }, signal), { signal, reset }),
    close: async () => {
      await Promise.all([pages.dispatcher.close(), streams.dispatcher.destroy()]);
    },
  };
}

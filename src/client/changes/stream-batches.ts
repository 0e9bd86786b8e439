import type { z } from 'zod';
import type { Connection } from '../call.ts';
import { ServiceError, Unavailable, UnreadableResponse } from '../errors.ts';
import { readResponse } from '../read-response.ts';
import { secretsOf } from '../redact.ts';
import { codeOf } from '../send-request.ts';
import { getToken } from '../token-source.ts';
import { changeSchema } from './change.ts';
import { changesOperation } from './operation.ts';
import type { AnyChange, Batch } from './read-batches.ts';

/** Raised where the stream does not begin: something in between collects it instead of passing it on. */
export class StreamHeldBack extends Error {}

const operation = { ...changesOperation, name: 'changes (stream)' };
const context = { operation: operation.name };

/**
 * The changes after a cursor as server-sent events, until the receiver ends the stream. The receiver sends the first event at
 * once: after `connection.timeoutMs` without one, it is held back.
 *
 * @throws StreamHeldBack, a ServiceError, the signal's reason
 */
export async function* streamBatches(
  { dispatcher, baseUrl, token: source, timeoutMs }: Connection,
  input: z.input<typeof changesOperation.request>,
  outer: AbortSignal | undefined,
): AsyncGenerator<Batch, void> {
  outer?.throwIfAborted();
  const ending = new AbortController();
  const { signal } = ending;
  const forward = () => ending.abort(outer?.reason);
  outer?.addEventListener('abort', forward, { once: true });
  const timer = setTimeout(() => ending.abort(new StreamHeldBack()), timeoutMs);
  try {
    const token = await getToken(source, signal, context);
    const { after = '', ...query } = operation.request.parse(input);
    const url = new URL(operation.path, baseUrl);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const {
      statusCode: status,
      headers,
      body,
    } = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        'last-event-id': after,
      },
      signal,
    });
    if (status !== 200) {
      const text = await body.text();
      readResponse(
        { status, headers, text, answeredAt: new Date() },
        operation,
        '',
        [token, ...secretsOf(input)],
        context,
      );
    }
    if (!/^text\/event-stream\b/.test(String(headers['content-type']))) throw new StreamHeldBack();
    for await (const batch of batchesOf(body)) {
      clearTimeout(timer);
      yield batch;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StreamHeldBack || error instanceof ServiceError) throw error;
    throw new Unavailable(`the stream broke off (${codeOf(error)})`, context, {
      reason: 'network',
      mayHaveReached: true,
    });
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', forward);
    ending.abort();
  }
}

/** The events of each chunk. One without data only moves the cursor. */
async function* batchesOf(body: AsyncIterable<Buffer>): AsyncGenerator<Batch, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = events.pop()!;
    const next = events.map((event) => fieldOf(event, 'id')).findLast((id) => id !== undefined);
    if (next === undefined) continue;
    const data = events.flatMap((event) => fieldOf(event, 'data') ?? []);
    yield { changes: data.map(parseChange), next };
  }
}

const fieldOf = (event: string, name: string): string | undefined =>
  event
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2);

function parseChange(text: string): AnyChange {
  try {
    return changeSchema.parse(JSON.parse(text));
  } catch {
    // The errors of both quote the change.
    throw new UnreadableResponse('an event is not a change', context);
  }
}

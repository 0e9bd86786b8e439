import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

export const isDisconnected = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';

const disconnected = () =>
  Object.assign(new Error('The client disconnected.'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });

/**
 * Sends a stream as the response. It ends when the client disconnects, also before the first byte: Node's pipeline through
 * a `Duplex.from` into a closed response never does.
 *
 * @param open opens the stream, unless the client has disconnected
 * @throws an error for which `isDisconnected` is true
 */
export async function sendStream(res: Response, open: () => readonly [Readable, ...Duplex[]]): Promise<void> {
  if (res.destroyed) throw disconnected();
  const gone = new Promise<never>((_, reject) => {
    res.once('close', () => res.writableFinished || reject(disconnected()));
  });
  await Promise.race([pipeline([...open(), res]), gone]);
}

import type { ServerResponse } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export const isDisconnected = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';

const disconnected = () =>
  Object.assign(new Error('The client disconnected.'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });

/**
 * Sends a stream as a response. It ends when the client disconnects, also before the first byte: Node's pipeline through
 * a `Duplex.from` into a closed response never does.
 *
 * @param open opens the stream, unless the client has disconnected
 * @throws an error for which `isDisconnected` is true
 */
export async function sendStream(to: Writable, open: () => readonly [Readable, ...Duplex[]]): Promise<void> {
  if (to.destroyed) throw disconnected();
  const gone = new Promise<never>((_, reject) => {
    to.once('close', () => to.writableFinished || reject(disconnected()));
  });
  await Promise.race([pipeline([...open(), to]), gone]);
}

/** Ends a response whose reader has stopped, or is too slow: meanwhile it occupies a connection, and its transaction holds vacuum back. */
export function abortWhenStalled(
  res: ServerResponse,
  { stalledMs, totalMs }: Record<'stalledMs' | 'totalMs', number>,
): NodeJS.Timeout {
  const began = performance.now();
  let moved = began;
  res.on('drain', () => {
    moved = performance.now();
  });
  return setInterval(() => {
    const now = performance.now();
    // Otherwise the download waits for the database.
    if (!res.writableNeedDrain) moved = now;
    if (now - moved > stalledMs || now - began > totalMs) res.destroy();
  }, stalledMs / 4);
}

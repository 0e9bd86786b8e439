import type { IncomingMessage } from 'node:http';
import type { Config } from '../../common/config/config.ts';
import { BodyTooLarge, MethodNotAllowed, RequestAborted, TooManyBodies } from './responses.ts';

/** @throws MethodNotAllowed unless the request is a POST */
export function requirePost(req: IncomingMessage): void {
  if (req.method !== 'POST') throw new MethodNotAllowed();
}

/** Advice to the sender; undefined: the body is plain JSON (service-interface section 4.5). */
export function adviceOnMedia({ headers }: IncomingMessage): string | undefined {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (!/^\s*application\/json\s*(;|$)/i.test(type)) return 'Send Content-Type: application/json.';
  if (/;\s*charset=/i.test(type) && !/;\s*charset="?utf-?8"?\s*(;|$)/i.test(type))
    return 'Send the JSON as UTF-8.';
  return encoding.toLowerCase() === 'identity' ? undefined : 'Send the body without compression.';
}

/** The bodies that are being read, the oldest first, and how much memory they take: each part takes more than its bytes. */
const reading = new Set<(error?: Error) => void>();
let heldBytes = 0;
const partBytes = 256;

/**
 * Reads a request's bytes. While all bodies take more than `bodiesBytes`, the oldest is refused: those that do not end keep none out.
 *
 * @throws BodyTooLarge as soon as the limit is exceeded; TooManyBodies; RequestAborted
 */
export async function readBody(
  req: IncomingMessage,
  { bodyLimitBytes: limit, limits }: Config,
): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > limit) throw new BodyTooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (error?: Error) => {
      if (reading.delete(end)) heldBytes -= size + chunks.length * partBytes;
      if (!error) return resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      chunks.length = 0;
      // The rest is read and dropped: a sender that is cut off while it still writes does not see the response.
      req.off('data', read).resume();
      return reject(error);
    };
    const read = (chunk: Buffer) => {
      chunks.push(chunk);
      reading.add(end);
      size += chunk.length;
      heldBytes += chunk.length + partBytes;
      if (size > limit) end(new BodyTooLarge(limit));
      while (heldBytes > limits.bodiesBytes) reading.values().next().value!(new TooManyBodies());
    };
    req.on('data', read);
    req.on('end', () => end());
    req.on('error', () => end(new RequestAborted()));
    req.on('close', () => {
      if (!req.complete) end(new RequestAborted());
    });
  });
}

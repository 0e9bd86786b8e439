import type { IncomingMessage } from 'node:http';
import { BodyTooLarge, MethodNotAllowed, RequestAborted } from './errors.ts';

/** @throws MethodNotAllowed unless the request is a POST */
export function requirePost(req: IncomingMessage): void {
  if (req.method !== 'POST') throw new MethodNotAllowed();
}

/** What to send instead; undefined: the body is plain JSON (service-interface section 4.5). */
export function adviceOnMedia({ headers }: IncomingMessage): string | undefined {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (!/^\s*application\/json\s*(;|$)/i.test(type)) return 'Send Content-Type: application/json.';
  if (/;\s*charset=/i.test(type) && !/;\s*charset="?utf-?8"?\s*(;|$)/i.test(type))
    return 'Send the JSON as UTF-8.';
  return encoding.toLowerCase() === 'identity' ? undefined : 'Send the body without compression.';
}

/**
 * Reads a request's bytes.
 *
 * @param limit how many bytes at most
 * @throws BodyTooLarge as soon as the limit is exceeded; RequestAborted
 */
export async function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > limit) throw new BodyTooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return chunks.push(chunk);
      // The rest is read and dropped: a sender that is cut off while it still writes does not see the response.
      chunks.length = 0;
      return reject(new BodyTooLarge(limit));
    });
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    req.on('error', () => reject(new RequestAborted()));
    req.on('close', () => {
      if (!req.complete) reject(new RequestAborted());
    });
  });
}

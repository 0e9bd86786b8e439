import type { IncomingMessage } from 'node:http';
import { BodyTooLarge, MethodNotAllowed, RequestAborted, UnsupportedMedia } from './errors.ts';

/** @throws MethodNotAllowed unless the request is a POST */
export function requirePost(req: IncomingMessage): void {
  if (req.method !== 'POST') throw new MethodNotAllowed();
}

/** @throws UnsupportedMedia unless the body is plain JSON (service-interface section 4.5) */
export function requireJson(req: IncomingMessage): void {
  const [type, ...parameters] = (req.headers['content-type'] ?? '').toLowerCase().split(';');
  if (type!.trim() !== 'application/json') {
    throw new UnsupportedMedia('Send Content-Type: application/json.');
  }
  const charset = parameters.map((p) => p.trim()).find((p) => p.startsWith('charset='));
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) throw new UnsupportedMedia('Send the JSON as UTF-8.');
  const encoding = req.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw new UnsupportedMedia('Send the body without compression.');
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

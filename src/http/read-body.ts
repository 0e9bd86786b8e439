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
 * The most bytes that a request's body can have: its Content-Length, or else the limit.
 *
 * @throws BodyTooLarge
 */
export function bodySize(req: IncomingMessage, limit: number): number {
  const length = req.headers['content-length'];
  if (Number(length ?? 0) > limit) throw new BodyTooLarge(limit);
  return length === undefined ? limit : Number(length);
}

/**
 * Reads a request's bytes.
 *
 * @param limit how many bytes at most
 * @param onGrowth called before each chunk with the size so far; what it raises rejects the body
 * @throws BodyTooLarge as soon as the limit is exceeded; RequestAborted
 */
export async function readBody(
  req: IncomingMessage,
  limit: number,
  onGrowth?: (bytes: number) => void,
): Promise<Buffer> {
  const expected = bodySize(req, limit);
  if (req.destroyed) throw new RequestAborted(); // the connection was closed while the body waited
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.alloc(0);
    let size = 0;
    let isRejected = false;
    req.on('data', (chunk: Buffer) => {
      if (size + chunk.length > limit) {
        req.pause();
        reject(new BodyTooLarge(limit));
        return;
      }
      try {
        if (!isRejected) onGrowth?.(size + chunk.length);
      } catch (error) {
        isRejected = true; // the rest is discarded, so that the connection can be used again
        reject(error as Error);
      }
      if (isRejected) return;
      // Chunks are copied into one buffer: a sender may send single bytes, and each chunk costs more than its bytes.
      if (size === 0) body = chunk;
      else body = append(body, size, chunk, expected);
      size += chunk.length;
    });
    req.on('end', () => resolve(body.subarray(0, size)));
    req.on('error', () => reject(new RequestAborted()));
    req.on('close', () => {
      if (!req.complete) reject(new RequestAborted());
    });
  });
}

function append(body: Buffer, size: number, chunk: Buffer, expected: number): Buffer {
  const needed = size + chunk.length;
  const roomy = needed <= body.length ? body : Buffer.alloc(Math.max(needed, Math.min(expected, 2 * needed)));
  if (roomy !== body) roomy.set(body);
  roomy.set(chunk, size);
  return roomy;
}

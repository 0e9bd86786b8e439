import type { IncomingMessage } from 'node:http';
import { BodyTooLarge, BodyTooSlow, MethodNotAllowed, RequestAborted, UnsupportedMedia } from './errors.ts';

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

/** How a large body is read. */
export interface LargeBody {
  /** Called before the body takes these bytes of memory; what it raises, or the promise, rejects the body. */
  grow: (bytes: number) => Promise<void> | undefined;
  /** Whether memory was charged, so that the rest has to arrive at the least rate. */
  isCharged: () => boolean;
  leastBytesPerS: number;
}

/**
 * Reads a request's bytes.
 *
 * @param limit how many bytes at most
 * @throws BodyTooLarge as soon as the limit is exceeded; BodyTooSlow; RequestAborted
 */
export async function readBody(req: IncomingMessage, limit: number, large?: LargeBody): Promise<Buffer> {
  const expected = bodySize(req, limit);
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.alloc(0);
    let size = 0;
    let isRejected = false;
    let isWaiting = false;
    let isEnded = false;
    let rate: ReturnType<typeof watchRate> | undefined;
    const fail = (error: unknown) => {
      isRejected = true;
      rate?.end();
      reject(error as Error);
    };
    const failTooSlow = () => {
      req.pause();
      fail(new BodyTooSlow());
    };
    // A paused request may end nevertheless, while its last chunk waits.
    const resolveIfDone = () => {
      if (!isEnded || isWaiting) return;
      rate?.end();
      resolve(body.subarray(0, size));
    };
    const add = (chunk: Buffer, room: number) => {
      // Chunks are copied into one buffer: a sender may send single bytes, and each chunk costs more than its bytes.
      if (size === 0) body = chunk;
      else body = append(body, size, chunk, room);
      size += chunk.length;
      if (large?.isCharged()) rate ??= watchRate(large.leastBytesPerS, () => size, failTooSlow);
    };
    req.on('data', (chunk: Buffer) => {
      if (size + chunk.length > limit) {
        req.pause();
        return fail(new BodyTooLarge(limit));
      }
      if (isRejected) return; // the rest is discarded, so that the connection can be used again
      const room = roomFor(body, size, chunk, expected);
      try {
        const waiting = large?.grow(room);
        if (!waiting) return add(chunk, room);
        req.pause();
        rate?.pause();
        isWaiting = true;
        waiting
          .then(() => {
            isWaiting = false;
            add(chunk, room);
            rate?.resume();
            resolveIfDone();
          }, fail)
          .finally(() => req.resume());
      } catch (error) {
        fail(error);
      }
    });
    req.on('end', () => {
      isEnded = true;
      resolveIfDone();
    });
    req.on('error', () => fail(new RequestAborted()));
    req.on('close', () => {
      if (!req.complete) fail(new RequestAborted());
    });
  });
}

function roomFor(body: Buffer, size: number, chunk: Buffer, expected: number): number {
  const needed = size + chunk.length;
  if (size === 0 || needed <= body.length) return Math.max(needed, body.length);
  return Math.max(needed, Math.min(expected, 2 * needed));
}

function append(body: Buffer, size: number, chunk: Buffer, room: number): Buffer {
  const roomy = room <= body.length ? body : Buffer.alloc(room);
  if (roomy !== body) roomy.set(body);
  roomy.set(chunk, size);
  return roomy;
}

/** Longer than a lost packet delays a sender. */
const periodS = 2;

/**
 * Requires that bytes arrive at a rate, in each period of two seconds.
 *
 * @param count how many have arrived
 * @param onTooSlow called once at most
 * @returns `pause`: while the receiver does not read
 */
function watchRate(leastBytesPerS: number, count: () => number, onTooSlow: () => void) {
  let before = count();
  let isPaused = false;
  let isEnded = false;
  const timer = setInterval(() => {
    const enough = before + periodS * leastBytesPerS;
    // What arrived while the process was busy is read first.
    setImmediate(() => {
      if (isPaused || isEnded) return;
      if (count() < enough) {
        end();
        onTooSlow();
      }
      before = count();
    });
  }, periodS * 1000);
  const end = () => {
    isEnded = true;
    clearInterval(timer);
  };
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      before = count();
      timer.refresh();
    },
    end,
  };
}

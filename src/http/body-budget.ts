import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.ts';
import { Busy } from './errors.ts';
import { bodySize, type LargeBody } from './read-body.ts';

interface Body {
  source: string;
  isProven: boolean;
  charged: number;
}

/** The platform has few addresses; a proxy's clients may have many. */
const maxProven = 1_000;

export type BodyBudget = ReturnType<typeof createBodyBudget>;

/**
 * Limits the memory of the large request bodies of all connections and of each address, from the first byte to the
 * response. Where bodies wait for each other, one at a time may exceed the limits, so that each is complete eventually.
 * Senders whose large body was accepted before have half of the room to themselves.
 */
export function createBodyBudget(options: Config['limits']['bodies']) {
  let used = 0;
  let usedByUnproven = 0;
  const usedBy = new Map<string, number>();
  /** In order of arrival. */
  const waiting = new Map<Body, { bytes: number; start: () => void; end: () => void }>();
  /** Networks from which a large body was accepted. */
  const proven = new Set<string>();
  /** The one that may exceed the limits. */
  let exempt: Body | undefined;

  /** Smaller bodies are limited by the number of connections. */
  const counts = (bytes: number) => bytes > options.smallBytes;

  const fits = ({ source, isProven }: Body, more: number): boolean => {
    const { bytes, bytesPerAddress } = options;
    const free = bytes - used;
    const isReserved = !isProven && proven.size > 0;
    const room = isReserved ? Math.min(free, bytes / 2 - usedByUnproven) : free;
    return more <= room && (usedBy.get(source) ?? 0) + more <= bytesPerAddress;
  };

  const charge = (body: Body, bytes: number): void => {
    const more = bytes - body.charged;
    body.charged = bytes;
    used += more;
    if (!body.isProven) usedByUnproven += more;
    const usedBySource = (usedBy.get(body.source) ?? 0) + more;
    if (usedBySource > 0) usedBy.set(body.source, usedBySource);
    else usedBy.delete(body.source);
  };

  const tryCharge = (body: Body, bytes: number): boolean => {
    if (!counts(bytes)) return true;
    if (!fits(body, bytes - body.charged)) {
      exempt ??= body;
      if (exempt !== body) return false;
    }
    charge(body, bytes);
    return true;
  };

  const release = (body: Body): void => {
    waiting.get(body)?.end();
    charge(body, 0);
    if (exempt === body) exempt = undefined;
    for (const [other, { bytes, start }] of waiting) {
      if (tryCharge(other, bytes)) start();
    }
  };

  const waitForRoom = (body: Body, bytes: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timeout);
        waiting.delete(body);
      };
      const timeout = setTimeout(() => {
        end();
        reject(new Busy());
      }, options.waitMs);
      const start = () => {
        end();
        resolve();
      };
      waiting.set(body, { bytes, start, end });
    });

  /** Notes that a large body from this network was accepted. */
  const prove = (source: string): void => {
    if (proven.size < maxProven) proven.add(source);
  };

  /**
   * The memory of a body; nothing at first. Without a length, as proxies send requests of HTTP/2 on, a body cannot wait:
   * Node would buffer its chunks, which may be thousands of one byte each. `grow` raises Busy if there is no room, and the
   * body cannot wait, too many already wait, or it has waited too long.
   */
  const open = (source: string, { headers }: Pick<IncomingMessage, 'headers'>) => {
    const body = { source, isProven: proven.has(source), charged: 0 };
    const canWait = headers['transfer-encoding'] === undefined;
    return {
      grow: (bytes: number) => {
        if (tryCharge(body, bytes)) return undefined;
        if (!canWait || waiting.size >= options.maxWaiting) throw new Busy();
        return waitForRoom(body, bytes);
      },
      isCharged: () => body.charged > 0,
      leastBytesPerS: options.leastBytesPerS,
      release: () => release(body),
    };
  };

  /**
   * Runs something with the memory of a request's body, and releases it afterwards.
   *
   * @param sourceOf the network that a request counts for
   * @param run gets no memory for a small body
   * @throws BodyTooLarge; what `run` throws
   */
  async function use<T>(
    req: IncomingMessage,
    limit: number,
    sourceOf: (req: IncomingMessage) => string,
    run: (memory: LargeBody | undefined) => Promise<T>,
  ): Promise<T> {
    if (!counts(bodySize(req, limit))) return run(undefined);
    const source = sourceOf(req);
    const memory = open(source, req);
    try {
      const result = await run(memory);
      prove(source);
      return result;
    } finally {
      memory.release();
    }
  }

  return { use, open, prove };
}

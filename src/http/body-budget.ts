import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.ts';
import { Busy } from './errors.ts';
import { bodySize, type LargeBody } from './read-body.ts';

interface Body {
  source: string;
  isProven: boolean;
  charged: number;
}

interface Waiting {
  bytes: number;
  start: () => void;
  end: () => void;
}

/** The platform has few addresses; a proxy's clients may have many. */
const maxProven = 1_000;

/**
 * Limits the memory of the large request bodies of all connections and of each address, from the first byte to the
 * response. Where bodies wait for each other, one at a time may exceed the limits, so that each is complete eventually.
 * Senders whose large body was accepted before have half of the room to themselves.
 */
export class BodyBudget {
  private readonly options: Config['limits']['bodies'];
  private used = 0;
  private usedByUnproven = 0;
  private readonly usedBy = new Map<string, number>();
  /** In order of arrival. */
  private readonly waiting = new Map<Body, Waiting>();
  /** Networks from which a large body was accepted. */
  private readonly proven = new Set<string>();
  /** The one that may exceed the limits. */
  private exempt: Body | undefined;

  constructor(options: Config['limits']['bodies']) {
    this.options = options;
  }

  /**
   * Runs something with the memory of a request's body, and releases it afterwards.
   *
   * @param limit how many bytes at most
   * @param sourceOf the network that a request counts for
   * @param run gets no memory for a small body
   * @throws BodyTooLarge; what `run` throws
   */
  async use<T>(
    req: IncomingMessage,
    limit: number,
    sourceOf: (req: IncomingMessage) => string,
    run: (memory: LargeBody | undefined) => Promise<T>,
  ): Promise<T> {
    if (!this.limits(bodySize(req, limit))) return run(undefined);
    const source = sourceOf(req);
    const memory = this.open(source, req);
    try {
      const result = await run(memory);
      this.prove(source);
      return result;
    } finally {
      memory.release();
    }
  }

  /** Notes that a large body from this network was accepted. */
  prove(source: string): void {
    if (this.proven.size < maxProven) this.proven.add(source);
  }

  /** Whether a body of this size counts: smaller ones are limited by the number of connections. */
  limits(bytes: number): boolean {
    return bytes > this.options.smallBytes;
  }

  /**
   * The memory of a body; nothing at first. Without a length, as proxies send requests of HTTP/2 on, a body cannot wait:
   * Node would buffer its chunks, which may be thousands of one byte each. `grow` raises Busy if there is no room, and the
   * body cannot wait, too many already wait, or it has waited too long.
   *
   * @param source the network of its address
   */
  open(source: string, { headers }: Pick<IncomingMessage, 'headers'>): LargeBody & { release: () => void } {
    const body = { source, isProven: this.proven.has(source), charged: 0 };
    const canWait = headers['transfer-encoding'] === undefined;
    return {
      grow: (bytes) => {
        if (this.tryCharge(body, bytes)) return undefined;
        if (!canWait || this.waiting.size >= this.options.maxWaiting) throw new Busy();
        return this.waitForRoom(body, bytes);
      },
      isCharged: () => body.charged > 0,
      leastBytesPerS: this.options.leastBytesPerS,
      release: () => this.release(body),
    };
  }

  private tryCharge(body: Body, bytes: number): boolean {
    if (!this.limits(bytes)) return true;
    if (!this.fits(body, bytes - body.charged) && !this.takeExemption(body)) return false;
    this.charge(body, bytes);
    return true;
  }

  private fits({ source, isProven }: Body, more: number): boolean {
    const { bytes, bytesPerAddress } = this.options;
    const free = bytes - this.used;
    const isReserved = !isProven && this.proven.size > 0;
    const room = isReserved ? Math.min(free, bytes / 2 - this.usedByUnproven) : free;
    return more <= room && (this.usedBy.get(source) ?? 0) + more <= bytesPerAddress;
  }

  private takeExemption(body: Body): boolean {
    this.exempt ??= body;
    return this.exempt === body;
  }

  private charge(body: Body, bytes: number): void {
    const more = bytes - body.charged;
    body.charged = bytes;
    this.used += more;
    if (!body.isProven) this.usedByUnproven += more;
    const usedBySource = (this.usedBy.get(body.source) ?? 0) + more;
    if (usedBySource > 0) this.usedBy.set(body.source, usedBySource);
    else this.usedBy.delete(body.source);
  }

  private release(body: Body): void {
    this.waiting.get(body)?.end();
    this.charge(body, 0);
    if (this.exempt === body) this.exempt = undefined;
    for (const [waiting, { bytes, start }] of this.waiting) {
      if (this.tryCharge(waiting, bytes)) start();
    }
  }

  private waitForRoom(body: Body, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timeout);
        this.waiting.delete(body);
      };
      const timeout = setTimeout(() => {
        end();
        reject(new Busy());
      }, this.options.waitMs);
      const start = () => {
        end();
        resolve();
      };
      this.waiting.set(body, { bytes, start, end });
    });
  }
}

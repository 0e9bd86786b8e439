import type { Config } from '../config.ts';
import { Busy } from './errors.ts';

/** Limits the memory of the request bodies of all connections, from the first byte to the response. */
export class BodyBudget {
  private readonly options: Config['limits']['bodies'];
  private used = 0;
  /** In order of arrival. */
  private readonly waiting = new Map<symbol, { bytes: number; start: () => void }>();

  constructor(options: Config['limits']['bodies']) {
    this.options = options;
  }

  /** Whether a body of this size counts: smaller ones need no room. */
  limits(bytes: number): boolean {
    return bytes > this.options.smallBytes;
  }

  /**
   * Resolves once there is room for a body, with the function that releases it. A body that is larger than the whole
   * budget is read alone.
   *
   * @throws Busy if there is no room and too many already wait, or it has waited too long
   */
  async enter(bytes: number): Promise<() => void> {
    if (!this.limits(bytes)) return () => {};
    if (!this.hasRoom(bytes)) {
      await this.waitForRoom(bytes);
      return this.releaseOf(bytes);
    }
    return this.enterNow(bytes);
  }

  /**
   * The same for a body that cannot wait.
   *
   * @throws Busy if there is no room
   */
  enterNow(bytes: number): () => void {
    if (!this.hasRoom(bytes)) throw new Busy();
    this.used += bytes;
    return this.releaseOf(bytes);
  }

  private releaseOf(bytes: number): () => void {
    return () => {
      this.used -= bytes;
      this.startWaiting();
    };
  }

  private hasRoom(bytes: number): boolean {
    return this.waiting.size === 0 && this.fits(bytes);
  }

  private fits(bytes: number): boolean {
    return this.used === 0 || this.used + bytes <= this.options.bytes;
  }

  private waitForRoom(bytes: number): Promise<void> {
    const { maxWaiting, waitMs } = this.options;
    if (this.waiting.size >= maxWaiting) return Promise.reject(new Busy());
    return new Promise((resolve, reject) => {
      const key = Symbol();
      const timeout = setTimeout(() => {
        this.waiting.delete(key);
        reject(new Busy());
        this.startWaiting(); // the next body may be smaller
      }, waitMs);
      const start = () => {
        clearTimeout(timeout);
        resolve();
      };
      this.waiting.set(key, { bytes, start });
    });
  }

  private startWaiting(): void {
    for (const [key, { bytes, start }] of this.waiting) {
      if (!this.fits(bytes)) return;
      this.waiting.delete(key);
      this.used += bytes;
      start();
    }
  }
}

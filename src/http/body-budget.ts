import type { Config } from '../config.ts';
import { Busy } from './errors.ts';

/** Bounds what the bodies of all connections hold of the memory, from the first byte that is read to the answer. */
export class BodyBudget {
  private readonly options: Config['limits']['bodies'];
  private used = 0;
  /** In the order in which they came; each is told when its turn has come. */
  private readonly waiting = new Map<symbol, { bytes: number; enter: () => void }>();

  constructor(options: Config['limits']['bodies']) {
    this.options = options;
  }

  /**
   * Resolves when there is room, with what gives it back. A body that is larger than the whole budget gets in
   * alone.
   *
   * @param mayWait whether it may wait for its turn
   * @throws Busy where it may not, or too many wait, or it has waited for too long
   */
  async enter(bytes: number, mayWait: boolean): Promise<() => void> {
    if (bytes <= this.options.smallBytes) return () => {};
    if (this.waiting.size === 0 && this.fits(bytes)) this.used += bytes;
    else if (mayWait) await this.turn(bytes);
    else throw new Busy();
    return () => {
      this.used -= bytes;
      this.admit();
    };
  }

  private fits(bytes: number): boolean {
    return this.used === 0 || this.used + bytes <= this.options.bytes;
  }

  private turn(bytes: number): Promise<void> {
    const { maxWaiting, waitMs } = this.options;
    if (this.waiting.size >= maxWaiting) return Promise.reject(new Busy());
    return new Promise((resolve, reject) => {
      const key = Symbol();
      const giveUp = setTimeout(() => {
        this.waiting.delete(key);
        reject(new Busy());
        this.admit(); // who stands behind it may be smaller
      }, waitMs);
      const enter = () => {
        clearTimeout(giveUp);
        resolve();
      };
      this.waiting.set(key, { bytes, enter });
    });
  }

  private admit(): void {
    for (const [key, { bytes, enter }] of this.waiting) {
      if (!this.fits(bytes)) return;
      this.waiting.delete(key);
      this.used += bytes;
      enter();
    }
  }
}

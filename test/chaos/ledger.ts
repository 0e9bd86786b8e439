import type { Callback } from '../../src/sandbox/history.ts';
import type { Attempt } from '../../src/sandbox/post.ts';

export interface Sent {
  callback: Callback;
  acknowledged: boolean;
}

/** The sender's record: every callback, and whether it was acknowledged. */
export class Ledger {
  readonly sent = new Map<string, Sent>();
  acknowledged = 0;
  rejected = 0;
  /** Responses and errors in place of an acknowledgement, with their counts. */
  readonly rejections = new Map<string, number>();
  /** Responses that put the blame on the callback, 4xx: all callbacks of a run are good. */
  blamed = 0;
  /** The longest response time. */
  slowestMs = 0;
  /** In which a callback got 503, since 1970. */
  readonly secondsOf503 = new Set<number>();
  /** The longest time between two acknowledgements. */
  longestPauseMs = 0;
  private lastAcknowledgedAt = Date.now();

  record({ callback, acknowledged, id, outcome, status, latencyMs }: Attempt): void {
    const now = Date.now();
    if (status !== undefined && status >= 400 && status < 500) this.blamed += 1;
    if (status === 503) this.secondsOf503.add(Math.floor(now / 1000));
    if (acknowledged) {
      this.acknowledged += 1;
      this.longestPauseMs = Math.max(this.longestPauseMs, now - this.lastAcknowledgedAt);
      this.lastAcknowledgedAt = now;
    } else {
      this.rejected += 1;
      this.rejections.set(outcome, (this.rejections.get(outcome) ?? 0) + 1);
    }
    if (status !== undefined) this.slowestMs = Math.max(this.slowestMs, latencyMs);
    const known = this.sent.get(callback.body);
    if (!known) this.sent.set(callback.body, { callback, acknowledged });
    else known.acknowledged ||= acknowledged;
    if (acknowledged && !id) throw new Error('An acknowledgement without an id.');
  }
}

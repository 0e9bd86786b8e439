import type { Callback } from '../../src/sandbox/history.ts';
import type { Attempt } from '../../src/sandbox/post.ts';

export interface Sent {
  callback: Callback;
  acknowledged: boolean;
}

/** What the sender knows: every callback that it sent, and which it was told were taken in. */
export class Ledger {
  readonly sent = new Map<string, Sent>();
  acknowledged = 0;
  refused = 0;
  /** What the sender saw in place of an acknowledgement, and how often. */
  readonly refusals = new Map<string, number>();
  /** The longest that an answer took. */
  slowestMs = 0;

  note({ callback, acknowledged, id, outcome, status, latencyMs }: Attempt): void {
    if (acknowledged) this.acknowledged += 1;
    else {
      this.refused += 1;
      this.refusals.set(outcome, (this.refusals.get(outcome) ?? 0) + 1);
    }
    if (status !== undefined) this.slowestMs = Math.max(this.slowestMs, latencyMs);
    const known = this.sent.get(callback.body);
    if (!known) this.sent.set(callback.body, { callback, acknowledged });
    else known.acknowledged ||= acknowledged;
    if (acknowledged && !id) throw new Error('An acknowledgement without an id.');
  }
}

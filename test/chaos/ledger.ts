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

  note({ callback, acknowledged, id }: Attempt): void {
    if (acknowledged) this.acknowledged += 1;
    else this.refused += 1;
    const known = this.sent.get(callback.body);
    if (!known) this.sent.set(callback.body, { callback, acknowledged });
    else known.acknowledged ||= acknowledged;
    if (acknowledged && !id) throw new Error('An acknowledgement without an id.');
  }
}

import { Webhook } from 'standardwebhooks';
import { pause, retryAfterMs, withDeadline } from '../common/timeouts.ts';
import type { Core } from '../receiver/feature.ts';
import { type Attempt, type Destination, findDue, moveTo, recordFailure, take } from './destinations.ts';
import { type Change, readHead, readPage } from './read-changes.ts';

/** Changes that were read earlier are not sent: their records may have been erased meanwhile. */
const maxAgeMs = 5_000;

/** Sends to each destination in order, until the signal is aborted; none waits for another. @throws the database's error */
export async function sendChanges(core: Core, signal: AbortSignal): Promise<void> {
  const running = new Map<string, Promise<void>>();
  const start = (id: string) => {
    const sending = sendTo(core, id, signal)
      .catch((err) => core.log.limited('warn', { destination: id }, 'webhooks are delayed', { err }))
      .finally(() => running.delete(id));
    running.set(id, sending);
  };
  try {
    while (!signal.aborted) {
      for (const id of await findDue(core)) if (!running.has(id)) start(id);
      await pause(core.config.times.webhookEveryMs, signal);
    }
  } finally {
    await Promise.all(running.values());
  }
}

/** Sends until a change is not accepted. The position follows: each change is sent at least once. */
async function sendTo(core: Core, id: string, signal: AbortSignal): Promise<void> {
  const { db, log } = core;
  const { webhookMs } = core.config.times;
  for (let isMore = true; isMore && !signal.aborted; ) {
    const destination = await take(core, id, 2 * webhookMs);
    if (!destination) return;
    const readAt = performance.now();
    const range = { ...(await readHead(db)), after: Number(destination.position), limit: 1 };
    const { changes, next, more } = await readPage(core, destination, { id: 'destination', name: id }, range);
    if (performance.now() - readAt > maxAgeMs)
      throw new Error('The database is too slow to send what it has');
    if (signal.aborted) return;
    let outcome = destination.outcome;
    for (const change of changes) {
      const response = await post(destination, messageOf(change), webhookMs, signal);
      ({ outcome } = response);
      if (isAccepted(outcome)) continue;
      if (signal.aborted) return;
      const about = { destination: id, family: change.family, record: change.record_id };
      log.warn({ ...about, attempts: destination.attempts + 1, outcome }, 'a webhook was not accepted');
      return recordFailure(core, destination, response);
    }
    isMore = (await moveTo(db, destination, next, outcome)) && more;
  }
}

export const isAccepted = (outcome: string): boolean => /^2\d\d$/.test(outcome);

/**
 * Sends a message once, signed after the Standard Webhooks specification. It follows no redirect, and reads nothing of the
 * response but its status and Retry-After.
 */
export async function post(
  { url, secret }: Destination,
  { id, body }: { id: string; body: string },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Attempt> {
  const now = new Date();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'webhook-receiver',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  };
  try {
    const init = { method: 'POST', headers, body, redirect: 'manual' } as const;
    const response = await withDeadline(timeoutMs, signal, (ending) =>
      fetch(url, { ...init, signal: ending }),
    );
    void response.body?.cancel().catch(() => {});
    const waitMs = retryAfterMs(response.headers.get('retry-after')) ?? 0;
    return { outcome: String(response.status), retryAfterMs: waitMs };
  } catch (error) {
    // Never a message: it could repeat the address, which may contain a secret.
    const { name, cause } = error as { name?: string; cause?: { code?: string } };
    return { outcome: String(cause?.code ?? name).slice(0, 60), retryAfterMs: 0 };
  }
}

function messageOf({ cursor, family, kind, at, json }: Change) {
  const about = JSON.stringify({ type: `${family}.${kind}`, timestamp: at });
  return { id: `msg_${cursor.replaceAll('.', '_')}`, body: `${about.slice(0, -1)},"data":${json}}` };
}

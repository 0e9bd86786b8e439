import { Webhook } from 'standardwebhooks';
import { pause, retryAfterMs, withDeadline } from '../common/timeouts.ts';
import type { Core } from '../receiver/feature.ts';
import { OtherFamilies } from '../receiver/store/errors.ts';
import {
  type Attempt,
  type Destination,
  findDue,
  moveTo,
  recordFailure,
  release,
  take,
} from './destinations.ts';
import { type Change, readHead, readPage } from './read-changes.ts';

/** A page is small: after a crash all of it is sent again. */
const maxChanges = 50;
const maxRequests = 8;

/** How changes reach some of the destinations. */
export interface Transport {
  /** Its destinations; undefined: those that are addresses. */
  ids?: readonly string[];
  limitMs: number;
  /** @throws the database's error */
  deliver: (destination: Destination, change: Change, signal: AbortSignal) => Promise<Attempt>;
}

/** A process that is gone keeps its page for so long: until its last attempts have ended. */
const leaseMs = ({ config: { times } }: Core, { limitMs }: Transport): number =>
  times.webhookPageMs + 2 * limitMs;

/** Sends webhooks to all addresses, until the signal is aborted. @throws the database's error */
export function sendWebhooks(core: Core, signal: AbortSignal): Promise<void> {
  const { webhookMs } = core.config.times;
  const deliver: Transport['deliver'] = (destination, change, ending) =>
    post(destination, messageOf(change), webhookMs, ending);
  return sendChanges(core, { limitMs: webhookMs, deliver }, signal);
}

/** Sends to each destination in order, until the signal is aborted; none waits for another. @throws the database's error */
export async function sendChanges(core: Core, transport: Transport, signal: AbortSignal): Promise<void> {
  const running = new Map<string, Promise<void>>();
  const start = (id: string) => {
    const sending = sendTo(core, id, transport, signal)
      .catch((err) => core.log.limited('warn', { destination: id }, 'a destination is delayed', { err }))
      .finally(() => running.delete(id));
    running.set(id, sending);
  };
  try {
    while (!signal.aborted) {
      for (const id of await findDue(core, transport.ids)) if (!running.has(id)) start(id);
      await pause(core.config.times.webhookEveryMs, signal);
    }
  } finally {
    await Promise.all(running.values());
  }
}

/** Sends page by page until a change is not accepted. The position follows: each change is sent at least once. */
async function sendTo(core: Core, id: string, transport: Transport, signal: AbortSignal): Promise<void> {
  const { db, log } = core;
  const { webhookPageMs } = core.config.times;
  const actor = { id: 'destination', name: id };
  // A call that ends its process takes few others with it.
  let size = transport.ids ? 1 : maxChanges;
  for (let isMore = true; isMore && !signal.aborted; size = Math.min(2 * size, maxChanges)) {
    const deadline = performance.now() + webhookPageMs;
    const destination = await take(core, id, leaseMs(core, transport));
    if (!destination) return;
    try {
      // What was not accepted is sent again alone.
      const limit = destination.attempts > 0 ? 1 : size;
      const range = { ...(await readHead(db)), after: Number(destination.position), limit };
      const { changes, next, more } = await readPage(core, destination, actor, range);
      const attempts: Attempt[] = [];
      const count = await sendInOrder(changes, async (change, n) => {
        // The record may have been erased since it was read.
        if (signal.aborted || performance.now() > deadline) return false;
        const attempt = await transport.deliver(destination, change, signal);
        const accepted = isAccepted(attempt.outcome);
        if (accepted || !signal.aborted) attempts[n] = attempt;
        return accepted;
      });
      const change = changes[count];
      const position = change ? Number(change.position) - 1 : next;
      const failure = attempts[count];
      if (change && failure) {
        const about = { destination: id, family: change.family, record: change.record_id };
        const { outcome } = failure;
        log.warn({ ...about, attempts: destination.attempts + 1, outcome }, 'a change was not accepted');
        return void (await recordFailure(core, destination, position, failure));
      }
      if (change && count === 0) {
        if (signal.aborted) return void (await release(db, destination));
        throw new Error('The database is too slow to send what it has');
      }
      const outcome = attempts[count - 1]?.outcome ?? destination.outcome;
      isMore = (await moveTo(db, destination, position, outcome)) && (more || change !== undefined);
    } catch (error) {
      // A process that knows the families of the tables may send at once.
      const saving =
        error instanceof OtherFamilies
          ? release(db, destination)
          : recordFailure(core, destination, Number(destination.position), { outcome: 'database error' });
      await saving.catch(() => {});
      throw error;
    }
  }
}

/**
 * Sends changes of different records at once, those of one record one after the other, and none behind one that is not
 * accepted. @returns how many were accepted, up to the first that was not @throws the first error, when no call goes on
 */
export async function sendInOrder(
  changes: readonly Change[],
  send: (change: Change, n: number) => Promise<boolean>,
): Promise<number> {
  let [next, end] = [0, changes.length];
  const errors: unknown[] = [];
  const sent = new Map<string, Promise<void>>();
  const sendNext = async () => {
    while (next < end) {
      const n = next++;
      const change = changes[n]!;
      const record = JSON.stringify([change.family, change.business_id, change.record_id]);
      const previous = sent.get(record);
      const sending = (async () => {
        await previous;
        const isSent = n < end && (await send(change, n).catch((error) => void errors.push(error)));
        if (!isSent) end = Math.min(end, n);
      })();
      sent.set(record, sending);
      await sending;
    }
  };
  await Promise.all(Array.from({ length: maxRequests }, sendNext));
  if (errors.length > 0) throw errors[0];
  return end;
}

export const done = 'done';
export const isAccepted = (outcome: string): boolean => outcome === done || /^2\d\d$/.test(outcome);

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
    const waitMs = retryAfterMs(response.headers.get('retry-after'));
    return { outcome: String(response.status), retryAfterMs: waitMs };
  } catch (error) {
    // Never a message: it could repeat the address, which may contain a secret.
    const { name, cause } = error as { name?: string; cause?: { code?: string } };
    return { outcome: String(cause?.code ?? name).slice(0, 60) };
  }
}

function messageOf({ about: { cursor }, family, kind, at, json }: Change) {
  const about = JSON.stringify({ type: `${family}.${kind}`, timestamp: at });
  return { id: `msg_${cursor.replaceAll('.', '_')}`, body: `${about.slice(0, -1)},"data":${json}}` };
}

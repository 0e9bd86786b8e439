import { timeLimits } from '../../src/common/time-limits.ts';
import { identify } from '../../src/intake/identity.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import type { Deployment } from './deployment.ts';

// The receiver responds after both stores have timed out; the rest is a margin for a busy machine.
const timeoutMs = timeLimits().databaseMs + timeLimits().redisMs + 5_000;
let next = 0;

/** Sends a new callback. */
export async function send(
  { url }: Pick<Deployment, 'url'>,
  family: keyof typeof paths = 'receipt',
  callback?: object,
) {
  next += 1;
  const body = callback ?? receiptCallback({ data: { receipt_id: next } });
  const response = await fetch(url + paths[family], {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { status: response.status, response, id: identify(body as never) };
}

/** Sends new callbacks until `count` are acknowledged, and returns the ids of those. */
export async function sendUntilAcknowledged(
  deployment: Deployment,
  count: number,
  senders = 10,
): Promise<string[]> {
  const ids: string[] = [];
  const sendMore = async () => {
    while (ids.length < count) {
      const { status, id } = await send(deployment);
      if (status === 200) ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: senders }, sendMore));
  return ids;
}

/** Resolves once these deliveries are applied. */
export async function untilApplied(
  deployment: Deployment,
  ids: readonly string[],
  withinMs = 60_000,
): Promise<void> {
  await until(async () => {
    const rows = await deployment.rows(`select id from deliveries where status = 'applied'`).catch(() => []);
    const known = new Set(rows.map(({ id }) => id));
    return ids.every((id) => known.has(id));
  }, withinMs);
}

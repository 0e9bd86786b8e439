import { identify } from '../../src/intake/identity.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import type { Stage } from './stage.ts';

const answerMs = 2_500; // two seconds is the promise, the rest is the test's own
let next = 0;

/** Sends a new callback; resolves with the status and the delivery's id. */
export async function send(
  { url }: Pick<Stage, 'url'>,
  family: keyof typeof paths = 'receipt',
  callback?: object,
) {
  next += 1;
  const body = callback ?? receiptCallback({ data: { receipt_id: next } });
  const response = await fetch(url + paths[family], {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(answerMs),
  });
  return { status: response.status, response, id: identify(body as never) };
}

/** Sends new callbacks in turn until so many are acknowledged; resolves with the ids of those. */
export async function sendUntilAcknowledged(stage: Stage, count: number, at = 10): Promise<string[]> {
  const ids: string[] = [];
  const sendOn = async () => {
    while (ids.length < count) {
      const answer = await send(stage);
      if (answer.status === 200) ids.push(answer.id);
    }
  };
  await Promise.all(Array.from({ length: at }, sendOn));
  return ids;
}

/** Resolves once these deliveries are applied. */
export async function applied(stage: Stage, ids: readonly string[], withinMs = 60_000): Promise<void> {
  await until(async () => {
    const rows = await stage.rows(`select id from deliveries where status = 'applied'`).catch(() => []);
    const known = new Set(rows.map(({ id }) => id));
    return ids.every((id) => known.has(id));
  }, withinMs);
}

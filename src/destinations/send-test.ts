import { randomUUID } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { Destination } from './destination-table.ts';
import { type Outcome, post } from './post.ts';

/** Sends a destination a signed message without data. */
export async function sendTest(
  { id, url, secrets }: Pick<Destination, 'id' | 'url' | 'secrets'>,
  dispatcher: Dispatcher,
  timeoutMs: number,
): Promise<Outcome> {
  const type = 'destination.test';
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data: { destination: id } });
  return post(url, { id: `msg_${randomUUID()}`, type, body }, secrets, { dispatcher, timeoutMs });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { DeliveryStatus, Tables } from '../../store/tables.ts';
import type { Receiver } from '../dependencies.ts';
import { read } from '../store.ts';

type Applied = { status: DeliveryStatus; ms: number };
/** What became of a test callback; without `delivery`, it was rejected or not stored. */
export type Tested =
  | { error: string }
  | (Awaited<ReturnType<Receiver['sendTest']>> & { delivery?: Applied | undefined });

const appliedWithinMs = 5_000;

/** Sends a test callback, and waits a moment until it is applied. */
export async function sendTest(db: Kysely<Tables>, { sendTest }: Receiver): Promise<Tested> {
  const deadline = performance.now() + appliedWithinMs;
  try {
    const response = await sendTest();
    if (!response.id) return response;
    const applied = sql<Applied>`
      select status, coalesce(extract(epoch from applied_at - received_at), 0)::float8 * 1000 as ms
      from deliveries where id = ${response.id}::uuid`;
    for (;;) {
      const [delivery] = await read(db, applied);
      if (delivery?.status !== 'received' || performance.now() > deadline) return { ...response, delivery };
      await sleep(50);
    }
  } catch (error) {
    return { error: (error as Error).message };
  }
}

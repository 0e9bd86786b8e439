import type { Config } from '../../src/common/config/config.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { createMerge } from '../../src/receiver/worker/merge.ts';
import { coreOf, storeIn } from '../support/core.ts';
import { deliveryOf } from '../support/intake.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';

export type Item = { cursor: string; id: string; version: number; record: Record<string, unknown> | null };

export const token = 'a-token-of-a-reader-1';
const tokens = [token, `${token}-public`].map((one, n) => ({ token: one, isPublic: n === 1 }));
const seconds = Math.floor(Date.now() / 1000) - 86_400;

export function openCore(
  database: Pick<ReceiverDatabase, 'db' | 'pool'>,
  overrides: Partial<Config> = {},
): Core {
  const limits = { statementMs: 30_000, mergeLockMs: 30_000, lockMs: 30_000 };
  const times = { webhookMs: 60_000, webhookEveryMs: 10, webhookPauseMs: 1, maxWebhookPauseMs: 50 };
  const core = coreOf(database, testConfig({ changes: { tokens }, times, ...overrides }));
  return { ...core, merge: createMerge({ ...core, limits }) };
}

let events = 0;

/** Stores a callback of a receipt that is newer than those before, and merges it. */
export async function change(core: Core, id: number, data = {}, event = 'updated') {
  events += 1;
  const about = { event: `receipt.${event}`, event_time: seconds + events, business_id: `b${id % 2}` };
  await storeIn(core, deliveryOf({ ...about, data: { receipt_id: id, ...data } }));
  return core.merge('receipt', { records: [{ businessId: about.business_id, recordId: String(id) }] });
}

/** The positions of all changes, in order. */
export const positions = async ({ rows }: Pick<ReceiverDatabase, 'rows'>, where = 'true') =>
  (await rows(`select position::int as n from receiver.changes where ${where} order by 1`)).map(
    ({ n }) => n as number,
  );

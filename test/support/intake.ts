import type { Delivery } from '../../src/callbacks/delivery.ts';
import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { createReadCallback } from '../../src/callbacks/read-callback.ts';
import { createLog } from '../../src/common/log.ts';
import { createIntake } from '../../src/receiver/intake/intake.ts';
import type { IntakeOptions } from '../../src/receiver/intake/store-delivery.ts';
import type { ReceiverDatabase } from './receiver-database.ts';
import { testConfig } from './service.ts';

/** The documented paths, as in Config. */
export const paths: Record<string, readonly string[]> = Object.fromEntries(
  families.map(({ name, path }) => [name, path.default]),
);
export const routeOf = (family: string) => ({ family, path: paths[family]![0]! });

const readCallback = createReadCallback(families);
let arrivals = Date.UTC(2026, 0, 1) * 1000;

/** The delivery of a callback that has arrived after the ones before. */
export function deliveryOf(callback: object | string, receivedAt?: number): Delivery {
  arrivals += 1;
  const options = { expected: otherOf(), receivedAt: receivedAt ?? arrivals };
  return readCallback(bodyOf(callback), options).delivery;
}

const bodyOf = (callback: object | string) =>
  Buffer.from(typeof callback === 'string' ? callback : JSON.stringify(callback));

export const yesterday = Math.floor(Date.now() / 1000) - 86_400;

/** A callback of a receipt that says nothing but this. */
export const receiptOf = (receipt_id: number, data: object = {}, envelope: object = {}): Delivery =>
  deliveryOf({
    event: 'receipt.updated',
    event_time: yesterday,
    business_id: 'b',
    ...envelope,
    data: { receipt_id, ...data },
  });

/** A callback of a consent form. */
export const formOf = (id: string): Delivery =>
  deliveryOf({ event: 'mcert.created', event_time: yesterday, business_id: 'b', data: { id } });

const otherOf = () => (families as readonly Family[]).find(({ name }) => name === 'other')!;

export function openIntake(database: ReceiverDatabase, options: Partial<IntakeOptions> = {}) {
  return createIntake({
    config: testConfig(),
    families,
    pool: database.pool,
    circuit: { run: (call) => call() },
    clock: { now: () => Date.now() },
    log: createLog('silent'),
    ...options,
  });
}

/** Has callbacks rejected. @returns the ids of what the quarantine has, the oldest first */
export async function reject(
  database: ReceiverDatabase,
  callbacks: readonly (object | string)[],
  { family = 'receipt', ...options }: Partial<IntakeOptions> & { family?: string } = {},
): Promise<string[]> {
  const intake = openIntake(database, options);
  for (const callback of callbacks)
    await expect(intake.receive(bodyOf(callback), routeOf(family))).rejects.toThrow();
  await intake.close();
  const ids = await database.rows(
    'select id from receiver.quarantine where replayed_at is null order by received_at',
  );
  return ids.map(({ id }) => String(id));
}

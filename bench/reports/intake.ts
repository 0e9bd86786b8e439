import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import type { Delivery } from '../../src/intake/delivery.ts';
import { identify } from '../../src/intake/identity.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { history } from '../../src/sandbox/history.ts';
import type { Database } from '../../src/store/database.ts';

const batch = 100;
const warmUp = 50;

/** Median times of a batch of a hundred callbacks. */
export interface Intake {
  /** Until it is durable and acknowledged. */
  insertMs: number;
  /** From then until its rows exist. */
  applyMs: number;
}

/**
 * Inserts and applies batches, in turns on each database: other load on the machine then affects all of them.
 *
 * @param sides with the settings `planForAnySize`
 */
export async function compareIntake(sides: Database[], batches: number): Promise<Intake[]> {
  const inserts: number[][] = sides.map(() => []);
  const applies: number[][] = sides.map(() => []);
  const incoming = batchesOfCallbacks();
  for (let at = 0; at < batches + warmUp; at += 1) {
    const deliveries = incoming.next().value;
    for (let turn = 0; turn < sides.length; turn += 1) {
      // The first of a turn has cold caches, so the order rotates.
      const index = (at + turn) % sides.length;
      const { db, pool } = sides[index]!;
      const began = performance.now();
      await insertDeliveries(pool, deliveries);
      const inserted = performance.now();
      const ids = deliveries.map(({ id }) => id);
      await applyDeliveries(db, families, ids, { preparedOn: pool });
      if (at < warmUp) continue;
      inserts[index]!.push(inserted - began);
      applies[index]!.push(performance.now() - inserted);
    }
  }
  return sides.map((_, index) => ({
    insertMs: median(inserts[index]!),
    applyMs: median(applies[index]!),
  }));
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Callbacks of a hundred clinics, in batches. */
function* batchesOfCallbacks(): Generator<Delivery[], never> {
  const businessIds = Array.from({ length: 100 }, (_, index) => String(161_000_000_000_000 + index));
  const callbacks = history({ seed: 1, start: Date.now(), businessIds });
  while (true) {
    yield Array.from({ length: batch }, () => {
      const { envelope, family, body } = callbacks.next().value;
      return { id: identify(envelope), family, body: Buffer.from(body) };
    });
  }
}

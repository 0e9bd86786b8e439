import { applyDeliveries } from '../../src/apply/apply.ts';
import type { Family } from '../../src/families/index.ts';
import type { Delivery } from '../../src/intake/delivery.ts';
import { identify } from '../../src/intake/identity.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { history } from '../../src/sandbox/history.ts';
import type { Database } from '../../src/store/database.ts';

const batch = 100;
const warmUp = 50;

/** How long a batch of a hundred callbacks took, the median of all. */
export interface Intake {
  /** Until it is durable, and acknowledged. */
  insertMs: number;
  /** Until its rows are there. */
  applyMs: number;
}

/** A database, and the families as they are applied to it. */
export interface Side {
  database: Database;
  families: readonly Family[];
}

/**
 * Takes batches in and applies them, batch by batch in turns on each of the databases, so that what else the
 * machine does falls on all alike.
 */
export async function compareIntake(sides: Side[], batches: number): Promise<Intake[]> {
  const inserts: number[][] = sides.map(() => []);
  const applies: number[][] = sides.map(() => []);
  const incoming = batchesOfCallbacks();
  for (let at = 0; at < batches + warmUp; at += 1) {
    const deliveries = incoming.next().value;
    for (let turn = 0; turn < sides.length; turn += 1) {
      // Another one begins each time: the first finds the caches cold.
      const index = (at + turn) % sides.length;
      const { database, families } = sides[index]!;
      const began = performance.now();
      await insertDeliveries(database.pool, deliveries);
      const inserted = performance.now();
      const ids = deliveries.map(({ id }) => id);
      await applyDeliveries(database.db, families, ids);
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

/** Callbacks of a hundred clinics' days, in batches. */
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

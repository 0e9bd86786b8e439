import { createLog } from '../../src/common/log.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { openDeliveryQueue } from '../../src/queue/delivery-queue.ts';
import { postgresBackend } from '../../src/queue/postgres-backend.ts';
import { redisBackend } from '../../src/queue/redis-backend.ts';
import type { TestDatabase } from './database.ts';

const log = createLog('silent');

/** Opens the queue of a test's database as a receiver does. */
export async function openQueue(database: TestDatabase, redisUrl?: string) {
  const [row] = await database.rows('select id from database_identity');
  const circuit = databaseCircuit(database.pool, { log });
  const backend = redisUrl
    ? redisBackend({
        url: redisUrl,
        prefix: 'receiver',
        databaseUrl: database.url,
        db: database.db,
        databaseId: Promise.resolve(row!.id as string),
        log,
      })
    : postgresBackend(database.url, circuit, { producer: 2, consumer: 6 }, database.pool);
  const queue = openDeliveryQueue(backend, log);
  await queue.opening;
  return {
    backend,
    queue,
    close: async () => {
      await queue.close();
      await backend.close();
      circuit.stop();
    },
  };
}

import type { Log } from '../log.ts';
import type { JobQueue, QueueBackend } from './backend.ts';

export interface DeliveryQueue {
  /** Adds one job that applies these deliveries. */
  enqueue: (ids: string[]) => Promise<void>;
  bullmq: JobQueue;
  close: () => Promise<void>;
}

/** The producer's end of the queue. */
export async function openDeliveryQueue(backend: QueueBackend, log: Log): Promise<DeliveryQueue> {
  const bullmq = await backend.openQueue({
    // What became of a delivery stands in its row.
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  });
  bullmq.on('error', (error) => log.warn({ err: error }, 'the queue does not answer'));
  return {
    enqueue: async (ids) => {
      await bullmq.add('apply', { ids });
    },
    bullmq,
    close: () => bullmq.close(),
  };
}

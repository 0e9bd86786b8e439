import type { RequestHandler } from 'express';
import type { JobQueue, QueueBackend } from '../../queue/backend.ts';
import { within } from '../../within.ts';
import type { ConsoleParts } from '../parts.ts';
import { createBoard } from './board.ts';

export interface OpenQueue {
  queue: JobQueue;
  /** Where it is kept. */
  store: QueueBackend['name'];
  board: RequestHandler;
}

const patienceMs = 2_000;

/** The queue on connections of the console's own, which are made when somebody looks. */
export function openQueue({ openBackend, log }: Pick<ConsoleParts, 'openBackend' | 'log'>) {
  let backend: QueueBackend | undefined;
  let opening: Promise<OpenQueue> | undefined;

  const start = async (): Promise<OpenQueue> => {
    backend ??= openBackend();
    const queue = await backend.openQueue({});
    queue.on('error', (error) => log.warn({ err: error }, 'the queue does not answer the console'));
    return { queue, store: backend.name, board: createBoard(queue) };
  };
  return {
    /** @returns undefined where the queue's store does not answer in time */
    open: async (): Promise<OpenQueue | undefined> => {
      opening ??= start().catch((error) => {
        opening = undefined;
        throw error;
      });
      return within(patienceMs, opening).catch(() => undefined);
    },
    close: async () => {
      const opened = await within(patienceMs, opening ?? Promise.reject(new Error('never opened'))).catch(
        () => undefined,
      );
      await opened?.queue.close();
      await backend?.close();
    },
  };
}

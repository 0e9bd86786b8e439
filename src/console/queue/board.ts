import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import type { Express, RequestHandler } from 'express';
import type { JobQueue } from '../../queue/backend.ts';
import type { JobData } from '../../queue/jobs.ts';

export const boardPath = '/console/queue/board';

/** What a job holds, as far as it is ids. */
export function describeJob(data: Partial<Record<string, unknown>> | JobData | undefined): object {
  const { ids } = (data ?? {}) as { ids?: unknown };
  return Array.isArray(ids) ? { ids } : {};
}

/** Bull Board for a queue. It can look and nothing else. */
export function createBoard(queue: JobQueue): RequestHandler {
  const adapter = new BullMQAdapter(queue as never, {
    readOnlyMode: true,
    description: 'Jobs carry ids of deliveries. What deliveries say is hidden.',
  });
  adapter.setFormatter('data', describeJob);
  adapter.setFormatter('returnValue', () => null);
  const server = new ExpressAdapter();
  server.setBasePath(boardPath);
  createBullBoard({
    queues: [adapter],
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Queue', miscLinks: [{ text: 'Console', url: '/console' }] } },
  });
  const board = server.getRouter() as Express;
  keepToOwnHost(board);
  return board;
}

type Engine = (path: string, options: object, done: (error: unknown, html?: string) => void) => void;

/** The board's page asks another host for a font. */
function keepToOwnHost(board: Express): void {
  const { engines } = board as unknown as { engines: Record<string, Engine> };
  const render = engines['.ejs']!;
  board.engine('ejs', (path, options, done) =>
    render(path, options, (error, html) => done(error, html?.replace(/<link[^>]*href="https?:[^>]*>/g, ''))),
  );
}

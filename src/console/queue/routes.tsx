import type { RequestHandler, Router } from 'express';
import { within } from '../../within.ts';
import { NotHere } from '../errors.ts';
import type { ConsoleParts } from '../parts.ts';
import { boardHeaders } from '../security-headers.ts';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount } from '../ui/values.tsx';
import { boardPath, createBoard } from './board.ts';

const timeoutMs = 2_000;
const states = ['active', 'waiting', 'delayed', 'prioritized', 'completed', 'failed'] as const;

/** The queue: how many jobs there are, and the board of BullMQ's own. */
export function addQueue(router: Router, { queue }: Pick<ConsoleParts, 'queue'>): void {
  let board: RequestHandler | undefined;

  router.get('/queue', async (_req, res) => {
    const counts = await within(timeoutMs, readCounts(queue)).catch(() => undefined);
    sendPage(
      res,
      { title: 'Queue', section: 'queue' },
      <>
        <p>
          {`BullMQ on ${queue.store === 'redis' ? 'Redis' : 'PostgreSQL'}. `}
          Jobs carry ids of deliveries; finished ones are not kept. What a lost queue held is found again by
          the sweep.
        </p>
        {counts ? <Counts counts={counts} /> : <p class="empty">The queue does not answer.</p>}
        {counts && (
          <p>
            <a class="button second" href={`${boardPath}/queue/${queue.opened().name}`}>
              Look into the queue
            </a>
          </p>
        )}
      </>,
    );
  });

  router.use('/queue/board', boardHeaders, async (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new NotHere('The board can look and nothing else.');
    board ??= createBoard(opened(queue));
    board(req, res, next);
  });
}

async function readCounts(queue: ConsoleParts['queue']) {
  return queue.opened().getJobCounts(...states);
}

function opened(queue: ConsoleParts['queue']) {
  try {
    return queue.opened();
  } catch {
    throw new NotHere('The queue does not answer.');
  }
}

function Counts({ counts }: { counts: Record<string, number> }) {
  return (
    <Table
      label="Jobs by state"
      small
      rows={states.map((state) => ({ state, count: counts[state] ?? 0 }))}
      empty=""
      columns={[
        { head: 'State', cell: ({ state }) => state },
        { head: 'Jobs', cell: ({ count }) => formatCount(count), numeric: true },
      ]}
    />
  );
}

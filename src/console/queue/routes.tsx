import type { Router } from 'express';
import { queueName } from '../../queue/backend.ts';
import { NotHere } from '../errors.ts';
import type { ConsoleParts } from '../parts.ts';
import { boardHeaders } from '../security-headers.ts';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount } from '../ui/values.tsx';
import { boardPath } from './board.ts';
import { openQueue } from './open-queue.ts';

const states = ['active', 'waiting', 'delayed', 'prioritized', 'completed', 'failed'] as const;

/** The queue: how many jobs there are, and the board of BullMQ's own. */
export function addQueue(router: Router, parts: ConsoleParts): () => Promise<void> {
  const queue = openQueue(parts);

  router.get('/queue', async (_req, res) => {
    const opened = await queue.open();
    const counts = await opened?.queue.getJobCounts(...states).catch(() => undefined);
    sendPage(
      res,
      { title: 'Queue', section: 'queue' },
      <>
        <p>
          {opened && `BullMQ on ${opened.store === 'redis' ? 'Redis' : 'PostgreSQL'}. `}
          Jobs carry ids of deliveries; finished ones are not kept. What a lost queue held is found again by
          the sweep.
        </p>
        {counts ? <Counts counts={counts} /> : <p class="empty">The queue does not answer.</p>}
        {counts && (
          <p>
            <a class="button second" href={`${boardPath}/queue/${queueName}`}>
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
    const opened = await queue.open();
    if (!opened) throw new NotHere('The queue does not answer.');
    opened.board(req, res, next);
  });
  return queue.close;
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

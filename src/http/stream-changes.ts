import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from '../changes/page.ts';
import type { Feed } from '../changes/start-feed.ts';

interface StreamOptions {
  read: (after: string | undefined) => Promise<Page>;
  feed: Pick<Feed, 'whenAfter' | 'signal'>;
  limits: {
    /** How often something is sent, so that nobody in between closes the connection. */
    heartbeatMs: number;
    /** How long a reader may take for a page. */
    stalledMs: number;
  };
}

/** Between two reads while changes come one after another: a page costs as much as dozens of changes. */
const readEveryMs = 50;

/**
 * Sends changes as server-sent events until the reader leaves. One page is in memory at a time: a reader that does not read it
 * is disconnected, and continues where it was. An error after the first page ends the stream, and the next request tells it.
 */
export async function streamChanges(
  res: ServerResponse,
  after: string | undefined,
  { read, feed, limits }: StreamOptions,
): Promise<void> {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  let readAt = performance.now();
  let page = await read(after);
  res.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  try {
    for (;;) {
      if (!(await send(res, eventsOf(page), limits.stalledMs))) return;
      if (!page.more) await feed.whenAfter(page.head, limits.heartbeatMs, gone.signal);
      const pauseMs = page.isCut ? 0 : readAt + readEveryMs - performance.now();
      if (pauseMs > 0) await sleep(pauseMs);
      if (gone.signal.aborted || feed.signal.aborted) return;
      readAt = performance.now();
      page = await read(page.next);
    }
  } catch {
    res.destroy();
  } finally {
    if (!res.destroyed) res.end();
  }
}

/** An event without data only moves the reader's cursor, and keeps the connection open. */
function eventsOf({ changes, next }: Page): string {
  const events = changes.map(({ cursor, json }) => `id: ${cursor}\ndata: ${json.replaceAll('\n', ' ')}\n\n`);
  return `${events.join('')}id: ${next}\n\n`;
}

/** @returns false where the reader has left, or was disconnected because it does not read */
async function send(res: ServerResponse, text: string, stalledMs: number): Promise<boolean> {
  if (res.destroyed) return false;
  if (res.write(text)) return true;
  const signal = AbortSignal.timeout(stalledMs);
  await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]).catch(() =>
    res.destroy(),
  );
  return !res.destroyed;
}

import { type Destination, setState } from './destination-table.ts';
import { isAccepted } from './post.ts';
import { createProgress, createTurns } from './progress.ts';
import { createSender, NotSent, type SenderDependencies, type SenderTimes } from './sender.ts';
import { keyOf, type Source, type SourceChange } from './source.ts';
import {
  dropWaiting,
  findDue,
  mostWaiting,
  noteChange,
  putWaiting,
  readWaiting,
  type WaitingRecord,
} from './waiting-table.ts';

export interface DeliverTimes extends SenderTimes {
  /** How often progress is noted, and whether something is due or changed looked for. */
  noteMs: number;
  /** Between two reads of few changes: a read of personal columns is an entry of the access log. */
  readMs: number;
  /** How long a stop waits for answers. */
  graceMs: number;
}

export interface DeliverDependencies extends SenderDependencies {
  source: Source;
  times: DeliverTimes;
}

const followMs = 5_000;
/** While nothing is accepted, progress is noted so many times less often. */
const idleNotes = 5;

/**
 * Sends a destination what has changed, until the signal is aborted, the lease is lost, or it is no longer active.
 *
 * Each record is sent in order: one request at a time is about it, and has what it is when it is sent. The cursor passes a
 * change once it was accepted, or its record is in destination_waiting: so each is sent at least once, whenever this ends.
 *
 * @throws the database's error, CursorUnknown, FeedUnavailable
 */
export async function deliver(
  begun: Destination,
  dependencies: DeliverDependencies,
  stopped: AbortSignal,
): Promise<void> {
  const { db, source, times } = dependencies;
  const { id } = begun;
  const ending = new AbortController();
  const signal = AbortSignal.any([stopped, ending.signal]);
  const sender = createSender(begun, dependencies);
  const { pace, send } = sender;
  const progress = createProgress();
  const turns = createTurns();
  const running = new Set<Promise<void>>();
  const waiting = new Set((await readWaiting(db, id)).map(keyOf));
  let failure: unknown;
  let wake = () => {};
  signal.addEventListener('abort', () => wake());

  const run = (key: string, task: (hasWaited: boolean) => Promise<void>) => {
    const turn = turns.take(key, task).catch((error) => {
      failure ??= error;
      ending.abort();
    });
    running.add(turn);
    void turn.then(() => {
      running.delete(turn);
      wake();
    });
  };
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  /** Sends a change that was read for the first time. @param hasWaited for another one about its record */
  const deliverChange = async (change: SourceChange, hasWaited: boolean): Promise<void> => {
    if (signal.aborted) throw new NotSent();
    const key = keyOf(change);
    if (waiting.has(key)) {
      if (await noteChange(db, id, change)) return;
      // Its id was replaced, because it identified a patient.
      waiting.delete(key);
    }
    const [current] = hasWaited ? await source.readAgain([change]) : [change];
    if (!current) return;
    const outcome = await send(current);
    if (isAccepted(outcome)) return;
    await putWaiting(db, id, { ...change, attempts: 1 }, outcome);
    waiting.add(key);
    if (waiting.size < mostWaiting) return;
    await setState(db, id, 'paused', `${mostWaiting} records wait, or were given up`);
    throw new NotSent();
  };

  let mayRead = true;
  let readAt = Number.NEGATIVE_INFINITY;
  let { cursor } = begun;
  /** @returns how many it has started to send */
  const startChanges = async (limit: number): Promise<number> => {
    if (!mayRead) return 0;
    const page = await source.read(cursor, limit);
    readAt = performance.now();
    cursor = page.next;
    const settle = progress.begin(page.changes.length, page.next);
    for (const change of page.changes) {
      run(keyOf(change), async (hasWaited) => {
        await deliverChange(change, hasWaited);
        settle();
      });
    }
    mayRead = page.more;
    if (!mayRead) {
      void source.whenAfter(page.head, followMs, signal).then(() => {
        mayRead = true;
        wake();
      });
    }
    return page.changes.length;
  };

  /** Sends a record whose last change was not accepted. */
  const retry = async (record: WaitingRecord, current: SourceChange | undefined): Promise<void> => {
    if (signal.aborted) throw new NotSent();
    const outcome = current && (await send(current));
    if (outcome && !isAccepted(outcome)) {
      return putWaiting(db, id, { ...record, attempts: record.attempts + 1 }, outcome);
    }
    await dropWaiting(db, id, record);
    waiting.delete(keyOf(record));
  };

  let mayRetry = true;
  /** @returns how many it has started to send */
  const startRetries = async (limit: number): Promise<number> => {
    if (!mayRetry) return 0;
    const due = await findDue(db, id, limit, pace.isFailing());
    mayRetry = due.length > 0;
    const records = due.filter((record) => !turns.has(keyOf(record)));
    if (records.length === 0) return 0;
    const currents = await source.readAgain(records);
    for (const [n, record] of records.entries()) run(keyOf(record), () => retry(record, currents[n]));
    return records.length;
  };

  const free = () => pace.limit() - running.size;
  let isRetryTurn = false;
  /** Starts as many requests as there may be. */
  const start = async () => {
    const isSoon = performance.now() - readAt < times.readMs && free() < pace.limit() / 2;
    if (free() <= 0 || isSoon) return;
    isRetryTurn = !isRetryTurn;
    // What fails again and again must not keep others from being sent, nor the other way round.
    const first = isRetryTurn ? startRetries : startChanges;
    await first(isRetryTurn ? Math.ceil(free() / 2) : free());
    if (free() > 0) await (isRetryTurn ? startChanges : startRetries)(free());
  };

  let notedAt = performance.now();
  const sendAll = async () => {
    while (!signal.aborted) {
      await start();
      const untilNote = notedAt + (sender.hasDelivered() ? 1 : idleNotes) * times.noteMs - performance.now();
      if (untilNote <= 0) {
        notedAt = performance.now();
        mayRetry = true;
        if (!(await sender.note(progress.take()))) return;
        continue;
      }
      const soon = mayRead && free() > 0 ? times.readMs : untilNote;
      await sleep(Math.min(untilNote, soon, pace.waitMs() || untilNote));
    }
  };
  await sendAll().catch((error) => {
    failure ??= error;
  });
  ending.abort();
  const cutting = setTimeout(sender.cut, times.graceMs);
  await Promise.all(running);
  clearTimeout(cutting);
  await sender.note(progress.take());
  if (failure && !(failure instanceof NotSent) && !stopped.aborted) throw failure;
}

import { createPause } from '../common/pause.ts';
import { type Destination, setState } from './destination-table.ts';
import { isAccepted } from './post.ts';
import { createProgress, createTurns } from './progress.ts';
import { createReadAhead } from './read-ahead.ts';
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

/** What was read before is read again before it is sent: it may have been erased meanwhile. */
const freshMs = 500;
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
  const { pause, wake } = createPause(signal);
  let failure: unknown;

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

  /** Sends a change. @param isOld another one about its record was sent since it was read, or it was read long ago */
  const deliverChange = async (change: SourceChange, isOld: boolean): Promise<void> => {
    if (signal.aborted) throw new NotSent();
    const key = keyOf(change);
    const hasWaited = waiting.has(key);
    if (hasWaited) {
      if (await noteChange(db, id, change)) return;
      // Its id was replaced, because it identified a patient: what was read before may be about the patient, too.
      waiting.delete(key);
    }
    const [current] = isOld || hasWaited ? await source.readAgain([change]) : [change];
    if (!current) return;
    const outcome = await send(current);
    if (isAccepted(outcome)) return;
    await putWaiting(db, id, { ...change, attempts: 1 }, outcome);
    waiting.add(key);
    if (waiting.size < mostWaiting) return;
    await setState(db, id, 'paused', `${mostWaiting} records wait, or were given up`);
    throw new NotSent();
  };

  /** Changes that were read and whose records have no request in progress: they wait for their request. */
  const queue: (() => void)[] = [];
  let sending = 0;
  const free = () => pace.limit() - sending;
  signal.addEventListener('abort', () => {
    for (const begin of queue.splice(0)) begin();
  });
  const sendLater = (change: SourceChange, settle: () => void) => {
    const readAt = performance.now();
    run(keyOf(change), async (hasWaited) => {
      if (signal.aborted) throw new NotSent();
      await new Promise<void>((resolve) => queue.push(resolve));
      const isOld = hasWaited || performance.now() - readAt > freshMs;
      await deliverChange(change, isOld).finally(() => {
        sending -= 1;
      });
      settle();
    });
  };
  const { readMs } = times;
  const changes = createReadAhead(begun.cursor, {
    ...{ source, progress, readMs, signal, onChange: sendLater, wake },
  });
  /** @returns how many it has started to send */
  const startChanges = async (limit: number): Promise<number> => {
    const first = queue.splice(0, limit);
    sending += first.length;
    for (const begin of first) begin();
    changes.readOn({ sent: first.length, left: queue.length, free: limit - first.length });
    return first.length;
  };

  /** Sends a record whose last change was not accepted. */
  const retry = async (record: WaitingRecord, current: SourceChange | undefined): Promise<void> => {
    if (signal.aborted) throw new NotSent();
    const outcome = current && (await send(current));
    if (outcome && !isAccepted(outcome)) {
      return putWaiting(db, id, { ...record, attempts: record.attempts + 1 }, outcome);
    }
    if (await dropWaiting(db, id, record)) waiting.delete(keyOf(record));
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
    for (const [n, record] of records.entries()) {
      // A change that was read meanwhile comes first: what was read here may be older.
      if (turns.has(keyOf(record))) continue;
      sending += 1;
      run(keyOf(record), () =>
        retry(record, currents[n]).finally(() => {
          sending -= 1;
        }),
      );
    }
    return records.length;
  };

  let isRetryTurn = false;
  /** Starts as many requests as there may be. */
  const start = async () => {
    if (free() <= 0) return;
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
      const soon = changes.hasMore() && free() > 0 ? times.readMs : untilNote;
      await pause(Math.min(untilNote, soon, pace.waitMs() || untilNote));
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

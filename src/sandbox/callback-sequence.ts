import { type Callback, callbackOf, type HistoryOptions, history } from './history.ts';
import { type Random, seededRandom } from './random.ts';

const shuffleWindow = 1_000;
const duplicateWindow = 200;

export interface CallbacksOptions extends HistoryOptions {
  /** Drops callbacks of the history. */
  readonly isSent?: ((callback: Callback) => boolean) | undefined;
  /** Number of callbacks, duplicates and invalid ones included. Default: all. */
  readonly count?: number | undefined;
  /** Share of deliberate duplicates, 0 to 1. */
  readonly duplicates?: number;
  /** Share of invalid callbacks, 0 to 1: not JSON, or without a valid time. */
  readonly invalid?: number;
  /** Changes the order within a window of 1000. */
  readonly shuffle?: boolean;
}

/**
 * A history with duplicates, invalid callbacks and changes of order, lazily and in bounded memory. The same options
 * give the same sequence. Without duplicates, every body is distinct.
 */
export function* callbacks(options: CallbacksOptions): Generator<Callback, void> {
  const random = seededRandom(options.seed, 1);
  const sequence = first(options.count ?? Number.POSITIVE_INFINITY, withFaults(options, random));
  yield* options.shuffle ? shuffled(sequence, random) : sequence;
}

function* withFaults(options: CallbacksOptions, random: Random) {
  const { duplicates = 0, invalid = 0, isSent = () => true } = options;
  const recent: Callback[] = [];
  for (const callback of history(options)) {
    if (!isSent(callback)) continue;
    while (recent.length > 0 && random.chance(duplicates)) yield duplicateOf(random.pick(recent), random);
    if (random.chance(invalid)) {
      yield invalidOf(callback, random);
      continue;
    }
    if (duplicates > 0)
      recent[recent.length < duplicateWindow ? recent.length : random.between(0, duplicateWindow - 1)] =
        callback;
    yield callback;
  }
}

function invalidOf(callback: Callback, random: Random): Callback {
  const { body, envelope } = callback;
  if (random.chance(0.5)) return { ...callback, body: body.slice(0, -1), invalid: 'truncated' };
  const invalid = JSON.stringify({ ...envelope, event_time: `at ${envelope.event_time}` });
  return { ...callback, body: invalid, invalid: 'event_time is text' };
}

function duplicateOf(callback: Callback, random: Random): Callback {
  if (random.chance(0.5)) return { ...callback, duplicate: 'same bytes' };
  const { number, family, envelope } = callback;
  const timestamp = envelope.timestamp + random.between(30, 3_600);
  return { ...callbackOf(number, family, { ...envelope, timestamp }), duplicate: 'new timestamp' };
}

function* first(count: number, source: Iterable<Callback>) {
  if (count <= 0) return;
  let left = count;
  for (const callback of source) {
    yield callback;
    if (--left <= 0) return;
  }
}

function* shuffled(source: Iterable<Callback>, random: Random) {
  const window: Callback[] = [];
  const take = () => window.splice(random.between(0, window.length - 1), 1)[0]!;
  for (const callback of source) {
    window.push(callback);
    if (window.length > shuffleWindow) yield take();
  }
  while (window.length > 0) yield take();
}

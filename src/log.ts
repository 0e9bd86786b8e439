import { type EventEmitter, once } from 'node:events';
import { type DestinationStream, type Logger, pino } from 'pino';
import { withTimeout } from './with-timeout.ts';

export type Log = Logger;

/**
 * A structured log, one JSON line an entry.
 *
 * @param level a level of pino
 * @param destination where the lines go; standard output unless told
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = { level, base: { pid: process.pid }, serializers: { err: describeError } };
  return destination ? pino(options, destination) : pino(options);
}

/**
 * Writes what is left of the log, as far as its reader takes it within a second. After this the process may exit:
 * pino's own hook would wait for ever where the reader is gone.
 */
export async function endLog(log: Log): Promise<void> {
  const stream = (log as unknown as Record<symbol, unknown>)[pino.symbols.streamSym] as EventEmitter & {
    end: () => void;
    flushSync: () => void;
  };
  const ended = Promise.race([once(stream, 'close'), once(stream, 'error')]);
  stream.end();
  await withTimeout(1_000, ended).catch(() => {});
  stream.flushSync = () => {};
}

/**
 * A line of the log that is written once a minute at most, with how many times it was left out since.
 *
 * @param write writes it
 */
export function sparingly(
  write: (more: { leftOut?: number }, error: unknown) => void,
): (error?: unknown) => void {
  let last = Number.NEGATIVE_INFINITY;
  let leftOut = 0;
  return (error) => {
    if (performance.now() - last < 60_000) {
      leftOut += 1;
      return;
    }
    last = performance.now();
    write(leftOut > 0 ? { leftOut } : {}, error);
    leftOut = 0;
  };
}

/**
 * What may be told of an error: its kind, code and place, not its message when a database wrote it, for
 * PostgreSQL's messages quote the values that it refused.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code, constraint, table, column, routine } = error as Error & Record<string, unknown>;
  const fromDatabase = typeof routine === 'string' || typeof constraint === 'string';
  return {
    type: error.name,
    message: fromDatabase ? error.message.replace(/"[^"]*"/g, '"…"') : error.message,
    code,
    constraint,
    table,
    column,
    stack: error.stack?.split('\n').slice(1, 6).join('\n'),
  };
}

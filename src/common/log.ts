import { type EventEmitter, once } from 'node:events';
import { type DestinationStream, type Logger, pino } from 'pino';
import { limitedLines } from './limited-lines.ts';
import { withTimeout } from './with-timeout.ts';

export type Log = Logger & ReturnType<typeof limitedLines>;

/**
 * A structured log with one JSON object per line.
 *
 * @param level a level of pino
 * @param destination default: standard output
 */
export function createLog(level: string, destination: DestinationStream = openOutput()): Log {
  const options = { level, base: { pid: process.pid }, serializers: { err: describeError } };
  // Its children inherit them, and count together.
  return Object.assign(pino(options, destination), limitedLines());
}

const mostWaitingBytes = 16 * 1024 * 1024;
let output: DestinationStream | undefined;

/**
 * Standard output. Callbacks are worth more than lines about them: while its disk is full, or nobody reads it, some lines wait, and
 * the others are dropped.
 */
function openOutput(): DestinationStream {
  // Without a listener an error would end the process. The next line tries again.
  output ??= pino.destination({ sync: false, maxLength: mostWaitingBytes }).on('error', () => {});
  return output;
}

/**
 * Flushes the log, for a second at most; later lines are dropped. After this the process can exit: pino's own exit hook would
 * wait for ever where nobody reads the output.
 */
export async function endLog(log: Log): Promise<void> {
  log.writeCounts();
  const stream = streamOf(log);
  const ended = Promise.race([once(stream, 'close'), once(stream, 'error')]);
  stream.end();
  stream.write = () => {};
  await withTimeout(1_000, ended).catch(() => {});
  stream.flushSync = () => {};
}

const streamOf = (log: Log) =>
  (log as unknown as Record<symbol, unknown>)[pino.symbols.streamSym] as DestinationStream &
    EventEmitter & { end: () => void; flushSync: () => void };

/**
 * Limits a log line to once per minute.
 *
 * @param write writes the line, with the number of lines that were left out
 */
export function throttled(
  write: (more: { suppressed?: number }, error: unknown) => void,
): (error?: unknown) => void {
  let last = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  return (error) => {
    if (performance.now() - last < 60_000) {
      suppressed += 1;
      return;
    }
    last = performance.now();
    write(suppressed > 0 ? { suppressed } : {}, error);
    suppressed = 0;
  };
}

/**
 * A database's message without its quoted parts, because PostgreSQL quotes values. Names of tables stay in messages about the
 * statement or the state of a table: SQLSTATE's classes 42 and 55.
 */
export function redactMessage(message: string, code: unknown): string {
  const isAboutTables = /^(42|55)/.test(String(code));
  return message.replace(isAboutTables ? /(?<!\b(?:table|relation) )"[^"]*"/g : /"[^"]*"/g, '"…"');
}

/**
 * The loggable part of an error and of its causes: type, code, place and message. Of a database's message see `redactMessage`; the message of a SyntaxError is left out, because JSON.parse quotes its input.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code, constraint, table, column, routine, cause } = error as Error & Record<string, unknown>;
  const fromDatabase = typeof routine === 'string' || typeof constraint === 'string';
  const message = fromDatabase ? redactMessage(error.message, code) : error.message;
  return {
    type: error.name,
    message: error.name === 'SyntaxError' ? undefined : message,
    code,
    constraint,
    table,
    column,
    stack: error.stack?.split('\n').slice(1, 6).join('\n'),
    cause: cause === undefined ? undefined : describeError(cause),
  };
}

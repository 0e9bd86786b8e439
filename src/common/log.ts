import { once } from 'node:events';
import { type DestinationStream, type Level, type Logger, pino } from 'pino';
import { withTimeout } from './timeouts.ts';

export interface Log extends Logger {
  /**
   * Writes a line about something that a sender, or anybody, can cause: the first of its kind in a minute, of at most 500 kinds.
   */
  limited: (level: Level, kind: Kind, message: string, details?: object) => void;
}

/** A log with one JSON object per line. @param level of pino */
export function createLog(level: string, destination: DestinationStream = standardOutput()): Log {
  const options = { level, base: { pid: process.pid }, serializers: { err: describeError } };
  // Its children inherit them, and are limited together.
  return Object.assign(pino(options, destination), limitedLines());
}

const maxWaitingBytes = 16 * 1024 * 1024;
let output: ReturnType<typeof pino.destination> | undefined;

/** While the disk of standard output is full, or nobody reads it, some lines wait, and the others are dropped. */
function standardOutput(): DestinationStream {
  // Without a listener an error would end the process. The next line tries again.
  output ??= pino.destination({ sync: false, maxLength: maxWaitingBytes }).on('error', () => {});
  return output;
}

/** Prints a text after the lines of the log that came before it. */
export const printWithLog = (text: string): void => standardOutput().write(text);

/** Flushes standard output, for a second at most: pino's own exit hook would wait for ever where nobody reads the output. */
export async function endLog(): Promise<void> {
  if (!output) return;
  const ended = Promise.race([once(output, 'close'), once(output, 'error')]);
  output.end();
  output.write = () => true;
  await withTimeout(1_000, ended).catch(() => {});
  output.flushSync = () => {};
}

/** Logs the errors of something that goes on after them. */
export const errorLogger =
  (log: Log, level: Level, message: string) =>
  (err: unknown): void => {
    const { code, name } = err as { code?: string; name?: string };
    log.limited(level, { reason: code ?? name }, message, { err });
  };

/** Connection, sign-in, resources, operator, system, damaged pages. PostgreSQL's other messages may quote values, as it likes. */
const withoutValues = /^(08|28|3D|53|57|58|XX00[12])/;

/** An error of PostgreSQL without values: its SQLSTATE, and its message where that has none. */
export function messageOf(error: Error): string {
  const { code, severity, routine, constraint } = error as Error & Record<string, unknown>;
  if (![severity, routine, constraint].some((field) => typeof field === 'string')) return error.message;
  const state = String(code);
  return withoutValues.test(state) ? `${state} ${error.message}` : state;
}

/** An error and its causes, without values. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code, constraint, table, column, cause } = error as Error & Record<string, unknown>;
  return {
    type: error.name,
    // JSON.parse quotes its input.
    message: error.name === 'SyntaxError' ? undefined : messageOf(error),
    code,
    constraint,
    table,
    column,
    // A message may have several lines.
    stack: error.stack?.replace(error.message, '').split('\n').slice(1, 6).join('\n'),
    cause: cause === undefined ? undefined : describeError(cause),
  };
}

/** What a handler throws, without its texts: they may have anything of a record, as may all of what is no error. */
export function describeThrown(thrown: unknown) {
  // The code of a DOMException, such as a time-out, is a number of the DOM.
  const isOfDom = thrown instanceof DOMException;
  const error: { code?: unknown } & Partial<Error> = isOfDom || thrown instanceof Error ? thrown : {};
  const { name, code, message = '', stack = '' } = error;
  const word = (value: unknown) =>
    typeof value === 'object' ? undefined : /^[\w.-]{1,60}$/.exec(String(value ?? ''))?.[0];
  // A message may have several lines.
  const at = /^ +at .*:\d+:\d+\)?$/m.exec(stack.replace(message, ''))?.[0].trim();
  return { type: word(name) ?? 'unknown error', code: isOfDom ? undefined : word(code), at };
}

/** Fields that tell a line from others of its message. They have few values, and none is chosen by a sender. */
type Kind = Record<string, string | number | undefined>;

const forgottenMs = 60_000;
const maxKinds = 500;

function limitedLines() {
  const written = new Set<string>();
  return {
    limited(this: Logger, level: Level, kind: Kind, message: string, details: object = {}): void {
      const key = JSON.stringify([level, message, kind]);
      if (!this.isLevelEnabled(level) || written.has(key) || written.size >= maxKinds) return;
      if (written.size === 0) setTimeout(() => written.clear(), forgottenMs).unref();
      written.add(key);
      this[level]({ ...kind, ...details }, message);
    },
  };
}

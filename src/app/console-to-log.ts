import type { Log } from '../common/log.ts';

/** Redirects what libraries print on the console, such as warnings of BullMQ and ioredis, to the log. */
export function consoleToLog(log: Log): void {
  const write =
    (level: 'info' | 'warn' | 'error') =>
    (...args: unknown[]) => {
      const err = args.find((arg) => arg instanceof Error);
      const text = args.filter((arg) => typeof arg === 'string').join(' ');
      const output = text.replace(/\s+/g, ' ');
      const kind = { output: output.replace(/\d+/g, '0').slice(0, 100) };
      log.limited(level, kind, 'console output of a library', { ...(err ? { err } : {}), output });
    };
  Object.assign(globalThis.console, {
    log: write('info'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  });
}

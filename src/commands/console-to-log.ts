import type { Log } from '../log.ts';

/** Redirects what libraries print on the console, such as warnings of BullMQ and ioredis, to the log. */
export function consoleToLog(log: Log): void {
  const write =
    (level: 'info' | 'warn' | 'error') =>
    (...args: unknown[]) => {
      const err = args.find((arg) => arg instanceof Error);
      const text = args.filter((arg) => typeof arg === 'string').join(' ');
      log[level](
        { ...(err ? { err } : {}), output: text.replace(/\s+/g, ' ') },
        'console output of a library',
      );
    };
  Object.assign(globalThis.console, {
    log: write('info'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  });
}

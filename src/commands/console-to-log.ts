import type { Log } from '../log.ts';

/** What libraries print, such as the advice of BullMQ and ioredis, becomes lines of the log. */
export function consoleToLog(log: Log): void {
  const write =
    (level: 'info' | 'warn' | 'error') =>
    (...said: unknown[]) => {
      const err = said.find((part) => part instanceof Error);
      const words = said.filter((part) => typeof part === 'string').join(' ');
      log[level]({ ...(err ? { err } : {}), said: words.replace(/\s+/g, ' ') }, 'a library says');
    };
  Object.assign(globalThis.console, {
    log: write('info'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  });
}

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type Config, InvalidConfiguration } from '../common/config/config.ts';
import type { Log } from '../common/log.ts';

const EX_CONFIG = 78;
const aliveEveryMs = 1_000;

/**
 * Runs the handlers in a process of their own, so that what they do hurts no callback: it is started again when it has ended, and
 * ended when it no longer says that it lives.
 *
 * @returns what stops it. @throws InvalidConfiguration where a module is wrong, of which the process has told
 */
export async function startHandlersProcess(
  { databaseUrl, times }: Config,
  embeddedUrl: string,
  log: Log,
): Promise<() => Promise<void>> {
  const env = { ...process.env, ROLE: 'handlers', HOST: '127.0.0.1', PORT: '0' };
  if (!databaseUrl) Object.assign(env, { DATABASE_URL: embeddedUrl });
  let isReady = false;
  let isStopping = false;
  let running: ChildProcess;
  const start = () => {
    const child = fork(process.argv[1]!, ['start'], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    running = child;
    let heardAt = performance.now();
    child.on('message', () => {
      heardAt = performance.now();
    });
    const watch = setInterval(() => {
      if (performance.now() - heardAt < times.handlersSilentMs) return;
      log.error({ handlersPid: child.pid }, 'the handlers do not respond, and are ended');
      child.kill('SIGKILL');
    }, aliveEveryMs);
    const restart = (reason: object) => {
      clearInterval(watch);
      if (isStopping) return;
      log.error(reason, 'the process of the handlers has ended');
      if (isReady) setTimeout(() => isStopping || start(), times.handlersRestartMs);
    };
    child.once('exit', (code, signal) => restart({ code, signal }));
    // What cannot be started has no exit.
    child.once('error', (err) => restart({ err }));
    return child;
  };

  const first = start();
  const [code] = await Promise.race([once(first, 'exit'), once(first, 'message')]);
  if (code === EX_CONFIG) throw new InvalidConfiguration([]);
  if (first.exitCode !== null || first.signalCode !== null)
    throw new Error(
      `The process of the handlers has ended before it was ready (${first.signalCode ?? first.exitCode}): see its log, and whether a module ends it`,
    );
  isReady = true;
  return async () => {
    isStopping = true;
    const child = running;
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), times.stopMs);
    await once(child, 'exit');
    clearTimeout(timer);
  };
}

/** Tells the process that has started this one, if there is one, that it lives, and ends with it. */
export function tellParent(): void {
  if (!process.send) return;
  process.send('alive');
  setInterval(() => process.send?.('alive'), aliveEveryMs).unref();
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

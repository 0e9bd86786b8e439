import { once } from 'node:events';
import { withDeadline } from '../../src/common/timeouts.ts';

/** Ends with its signal, and never by itself. */
const hang = async (signal: AbortSignal) => {
  await once(signal, 'abort');
  signal.throwIfAborted();
};

/** Neither ends by itself nor with its signal. */
const ignore = () => new Promise<never>(() => {});

it.each([hang, ignore])('work that hangs ends after its time (%p)', async (work) => {
  for (const signal of [undefined, new AbortController().signal])
    await expect(withDeadline(10, signal, work)).rejects.toMatchObject({ name: 'TimeoutError' });
  const error = new Error('slow');
  await expect(withDeadline(10, undefined, work, () => error)).rejects.toBe(error);
});

it.each([hang, ignore])('work that hangs ends with its task, and with its reason (%p)', async (work) => {
  const task = new AbortController();
  const outcome = withDeadline(600_000, task.signal, work);
  task.abort();
  await expect(outcome).rejects.toBe(task.signal.reason);
  await expect(withDeadline(600_000, task.signal, work)).rejects.toBe(task.signal.reason);
});

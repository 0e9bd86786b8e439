import { once } from 'node:events';
import { withDeadline } from '../../src/common/timeouts.ts';

/** Ends with its signal, and never by itself. */
const hang = async (signal: AbortSignal) => {
  await once(signal, 'abort');
  signal.throwIfAborted();
};

it('work that hangs ends after its time', async () => {
  await expect(withDeadline(10, undefined, hang)).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(withDeadline(10, new AbortController().signal, hang)).rejects.toMatchObject({
    name: 'TimeoutError',
  });
});

it('work that hangs ends with its task', async () => {
  const task = new AbortController();
  const work = withDeadline(600_000, task.signal, hang);
  task.abort();
  await expect(work).rejects.toThrow();
  await expect(withDeadline(600_000, task.signal, hang)).rejects.toBe(task.signal.reason);
});

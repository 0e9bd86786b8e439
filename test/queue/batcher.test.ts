import { createBatcher } from '../../src/queue/delivery-queue.ts';
import { createDatabase } from '../support/database.ts';
import { openQueue } from '../support/queue.ts';
import { openRedis } from '../support/redis.ts';

it('sends the first item at once, and later items of the same interval as one batch', async () => {
  const sent: number[][] = [];
  const add = createBatcher<number>(async (items) => void sent.push(items), 20);
  await add([1]);
  await Promise.all([add([2, 3]), add([4])]);
  await add([5]);
  expect(sent).toEqual([[1], [2, 3, 4], [5]]);
});

it('sends the first item at once, however long the interval is', async () => {
  const sent: number[][] = [];
  const add = createBatcher<number>(async (items) => void sent.push(items), 1e9);
  await add([1]);
  expect(sent).toEqual([[1]]);
});

it('raises a failure to each caller of the batch, and sends the next batch', async () => {
  let down = true;
  const add = createBatcher<number>(async () => {
    if (down) throw new Error('down');
  }, 5);
  const results = await Promise.allSettled([add([1]), add([2])]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  down = false;
  await add([3]);
});

it('adds one job for the ids, and their families, of several commits within milliseconds', async () => {
  const [redis, database] = await Promise.all([openRedis(), createDatabase()]);
  const { queue, close } = await openQueue(database, redis.url);
  const of = (family: string, ...ids: string[]) => ids.map((id) => ({ id, family }));
  await Promise.all([
    queue.enqueue([...of('receipt', 'a'), ...of('notice', 'b')]),
    queue.enqueue(of('receipt', 'c')),
    queue.enqueue(of('receipt', 'd')),
  ]);
  const jobs = await queue.bullmq().getJobs(['waiting']);
  expect(jobs.map(({ data }) => data)).toEqual([
    { ids: ['a', 'b', 'c', 'd'], families: ['receipt', 'notice'] },
  ]);
  await close();
  await Promise.all([redis.stop(), database.close()]);
});

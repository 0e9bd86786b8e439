import { Batcher } from '../../src/queue/batcher.ts';
import { createDatabase } from '../support/database.ts';
import { openQueue } from '../support/queue.ts';
import { openRedis } from '../support/redis.ts';

it('the first goes at once, and those that come soon after it go together', async () => {
  const sent: number[][] = [];
  const gathering = new Batcher<number>(async (items) => void sent.push(items), 20);
  await gathering.add([1]);
  await Promise.all([gathering.add([2, 3]), gathering.add([4])]);
  await gathering.add([5]);
  expect(sent).toEqual([[1], [2, 3, 4], [5]]);
});

it('the first does not wait, however long the others may have to', async () => {
  const sent: number[][] = [];
  const gathering = new Batcher<number>(async (items) => void sent.push(items), 1e9);
  await gathering.add([1]);
  expect(sent).toEqual([[1]]);
});

it('whoever gave something learns that it could not be sent, and the next is tried afresh', async () => {
  let down = true;
  const gathering = new Batcher<number>(async () => {
    if (down) throw new Error('down');
  }, 5);
  const results = await Promise.allSettled([gathering.add([1]), gathering.add([2])]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  down = false;
  await gathering.add([3]);
});

it('the ids of commits in quick succession share a job', async () => {
  const [redis, database] = await Promise.all([openRedis(), createDatabase()]);
  const { queue, close } = await openQueue(database, redis.url);
  await Promise.all([queue.enqueue(['a', 'b']), queue.enqueue(['c']), queue.enqueue(['d'])]);
  const jobs = await queue.opened().getJobs(['waiting']);
  expect(jobs.map(({ data }) => data)).toEqual([{ ids: ['a', 'b', 'c', 'd'] }]);
  await close();
  await Promise.all([redis.stop(), database.close()]);
});

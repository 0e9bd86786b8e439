import fc from 'fast-check';
import { createGroupCommit, Overloaded } from '../../../src/receiver/intake/group-commit.ts';
import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { until } from '../../support/until.ts';

function create(commit: (items: number[]) => Promise<number[]>, limits = {}) {
  return createGroupCommit<number, number>({
    commit,
    weigh: () => 1,
    maxWeight: 1e9,
    maxItems: 500,
    maxWaiting: 1_000,
    maxWaitingWeight: 1e9,
    ...limits,
  });
}

it('items that arrive during a commit share the next one', async () => {
  const commits: number[][] = [];
  let release = () => {};
  const group = create(async (items) => {
    commits.push(items);
    if (commits.length === 1) await new Promise<void>((resolve) => (release = resolve));
    return items;
  });
  const first = group.append(0);
  await until(() => commits.length === 1);
  const others = [1, 2, 3, 4].map((item) => group.append(item));
  release();
  expect(await Promise.all([first, ...others])).toEqual([0, 1, 2, 3, 4]);
  expect(commits).toEqual([[0], [1, 2, 3, 4]]);
});

it('only faulty items are rejected, and every other is committed exactly once', async () => {
  const items = fc.uniqueArray(fc.nat(300), { maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(items, fc.integer({ min: 1, max: 60 }), fc.nat(50), async (all, maxItems, bad) => {
      const committed: number[] = [];
      const isBad = (item: number) => item % 51 === bad;
      const group = create(
        async (batch) => {
          if (batch.some(isBad)) throw new RangeError();
          committed.push(...batch);
          return batch.map((item) => item * 2);
        },
        { maxItems },
      );
      const results = await Promise.allSettled(all.map((item) => group.append(item)));
      for (const [index, item] of all.entries()) {
        const expected = isBad(item) ? { status: 'rejected' } : { status: 'fulfilled', value: item * 2 };
        expect(results[index]).toMatchObject(expected);
      }
      expect(committed).toEqual(all.filter((item) => !isBad(item)));
    }),
  );
});

it('an outage rejects the items of its commit, and the next commit is tried', async () => {
  let down = true;
  const group = create(async (items) => {
    if (down) throw new StoreUnavailable('The store');
    return items;
  });
  const results = await Promise.allSettled([1, 2].map((item) => group.append(item)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  down = false;
  expect(await group.append(3)).toBe(3);
});

it('no commit exceeds the limits of items and weight', async () => {
  const sizes: number[] = [];
  const commit = async (items: number[]) => {
    sizes.push(items.reduce((sum, item) => sum + item, 0));
    return items;
  };
  const group = create(commit, { weigh: (item: number) => item, maxWeight: 10, maxItems: 3 });
  await Promise.all([4, 4, 4, 20, 1, 1, 1, 1].map((item) => group.append(item)));
  expect(sizes).toEqual([8, 4, 20, 3, 1]);
});

it('items beyond the limit of waiting items are rejected at once', async () => {
  const group = create(async (items) => items, { maxWaiting: 2 });
  const results = await Promise.allSettled([1, 2, 3].map((item) => group.append(item)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect(results[2]).toMatchObject({ reason: expect.any(Overloaded) });
});

it('drained waits for everything that was appended', async () => {
  let done = 0;
  const group = create(
    async (items) => {
      await new Promise(setImmediate);
      done += items.length;
      return items;
    },
    { maxItems: 2 },
  );
  const all = Promise.all([1, 2, 3, 4, 5].map((item) => group.append(item)));
  await group.drained();
  expect(done).toBe(5);
  await all;
});

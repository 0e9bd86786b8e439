import fc from 'fast-check';
import type { Change } from '../../src/feed/read-changes.ts';
import { sendInOrder } from '../../src/feed/send.ts';
import { until } from '../support/until.ts';

it('changes are sent in order for their record, eight at once, none behind a failure, under any order of answers', async () => {
  const changes = fc.array(fc.record({ id: fc.nat(25), isAccepted: fc.nat(14).map((n) => n > 0) }), {
    maxLength: 50,
  });
  await fc.assert(
    fc.asyncProperty(changes, fc.scheduler(), async (page, scheduler) => {
      const [open, accepted, failed] = [new Set<number>(), new Set<number>(), new Set<number>()];
      const send = async (_change: Change, n: number) => {
        const { id, isAccepted } = page[n]!;
        for (const [earlier, change] of page.slice(0, n).entries())
          expect(change.id !== id || accepted.has(earlier)).toBe(true);
        for (const earlier of failed) expect(n).toBeLessThan(earlier);
        expect(accepted.has(n) || open.has(n)).toBe(false);
        open.add(n);
        expect(open.size).toBeLessThanOrEqual(8);
        await scheduler.schedule(Promise.resolve());
        open.delete(n);
        (isAccepted ? accepted : failed).add(n);
        return isAccepted;
      };
      const rows = page.map(({ id }) => ({ family: 'receipt', business_id: 'b', record_id: String(id) }));
      const count = await scheduler.waitFor(sendInOrder(rows as Change[], send));
      const first = page.findIndex(({ isAccepted }) => !isAccepted);
      expect(count).toBe(first < 0 ? page.length : first);
      for (let n = 0; n < count; n++) expect(accepted.has(n)).toBe(true);
      expect(open.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});

it('an error ends the taking of changes, and is thrown once what was begun has ended', async () => {
  const rows = Array.from({ length: 20 }, (_, n) => ({
    family: 'receipt',
    business_id: 'b',
    record_id: `${n}`,
  }));
  const begun: number[] = [];
  const endings: (() => void)[] = [];
  let thrown: unknown;
  const sending = sendInOrder(rows as Change[], async (_change, n) => {
    begun.push(n);
    if (n === 3) throw new Error('the database is away');
    await new Promise<void>((resolve) => endings.push(resolve));
    if (n === 5) throw new Error('a later one');
    return true;
  }).catch((error) => {
    thrown = error;
  });
  await until(() => begun.length >= 8);
  await new Promise(setImmediate);
  expect([begun.length, thrown]).toEqual([8, undefined]);
  for (const end of endings) end();
  await sending;
  expect([begun.length, thrown]).toEqual([8, new Error('the database is away')]);
});

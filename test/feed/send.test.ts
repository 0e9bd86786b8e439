import fc from 'fast-check';
import type { Change } from '../../src/feed/read-changes.ts';
import { sendInOrder } from '../../src/feed/send.ts';

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

import fc from 'fast-check';
import { createPace } from '../../src/destinations/pace.ts';
import { parseRetryAfter } from '../../src/destinations/post.ts';
import { createProgress, createTurns } from '../../src/destinations/progress.ts';
import { retryPauseMs, triedForMs } from '../../src/destinations/retries.ts';

const hourMs = 3_600_000;
const outcome = (status: number, retryAfterMs?: number) => ({
  ...{ status, outcome: String(status), ms: 1, answer: '', retryAfterMs },
});

it('a record is tried for three days: at once at first, then a few times a day, never before an answer permits', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (random) => {
      let [attempts, ms] = [0, 0];
      for (; ms < triedForMs; ms += retryPauseMs(++attempts, undefined, random));
      expect(attempts).toBeGreaterThan(10);
      expect(attempts).toBeLessThan(20);
    }),
  );
  expect(retryPauseMs(1, undefined, 0)).toBe(4_000);
  expect(retryPauseMs(1, hourMs, 0)).toBe(hourMs);
  expect(retryPauseMs(1, 1_000 * hourMs, 0)).toBe(24 * hourMs);
});

it('Retry-After is a number of seconds or a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(
    ['120', 'Thu, 01 Jan 2026 00:02:00 GMT', 'Wed, 31 Dec 2025 00:00:00 GMT', 'soon', undefined].map((text) =>
      parseRetryAfter(text, now),
    ),
  ).toEqual([...[120_000, 120_000, 0, undefined, undefined]]);
});

it('an overloaded destination gets fewer requests, after the pause that it asks for; each success permits one more', () => {
  let now = 0;
  const pace = createPace(8, false, () => now);
  pace.note(outcome(429, 30_000));
  expect([pace.limit(), pace.waitMs()]).toEqual([0, 30_000]);
  now = 30_000;
  expect(pace.limit()).toBe(4);
  pace.note(outcome(200));
  expect(pace.limit()).toBe(5);
  for (let n = 0; n < 9; n++) pace.note(outcome(200));
  expect(pace.limit()).toBe(8);
});

it('a destination that fails is tried with single requests, at most five minutes apart, and is never given up', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(500, 503, 404, 200), { maxLength: 100 }), (statuses) => {
      let now = 0;
      const pace = createPace(8, false, () => now);
      let failures = 0;
      for (const status of statuses) {
        expect(pace.waitMs()).toBeLessThanOrEqual(300_000);
        now += pace.waitMs();
        expect(pace.limit()).toBeGreaterThanOrEqual(1);
        pace.note(outcome(status));
        failures = status === 200 ? 0 : failures + 1;
        if (failures >= 5) expect([pace.limit(), pace.isFailing()]).toEqual([0, true]);
      }
    }),
  );
});

it('the cursor never passes a change that is not settled, in whichever order they are', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
      fc.infiniteStream(fc.nat()),
      (sizes, picks) => {
        const progress = createProgress();
        const open: { page: number; settle: () => void }[] = [];
        sizes.forEach((size, page) => {
          const settle = progress.begin(size, String(page));
          for (let n = 0; n < size; n++) open.push({ page, settle });
        });
        let cursor = -1;
        for (;;) {
          cursor = Number(progress.take() ?? cursor);
          const firstOpen = Math.min(...open.map(({ page }) => page), sizes.length);
          expect(cursor).toBe(firstOpen - 1);
          if (open.length === 0) break;
          open.splice(picks.next().value! % open.length, 1)[0]!.settle();
        }
      },
    ),
  );
});

it('tasks about the same key take turns in their order, and others run meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 20 }),
      fc.scheduler(),
      async (keys, scheduler) => {
        const turns = createTurns();
        const [begun, running] = [[] as [string, number][], new Set<string>()];
        const tasks = keys.map((key, n) =>
          turns.take(key, async (hasWaited) => {
            expect(running.has(key)).toBe(false);
            expect(hasWaited).toBe(keys.indexOf(key) < n && hasWaited);
            running.add(key);
            begun.push([key, n]);
            await scheduler.schedule(Promise.resolve());
            running.delete(key);
          }),
        );
        await scheduler.waitAll();
        while (scheduler.count() > 0) await scheduler.waitAll();
        await scheduler.waitFor(Promise.all(tasks));
        for (const key of ['a', 'b', 'c']) {
          const own = begun.filter(([one]) => one === key).map(([, n]) => n);
          expect(own).toEqual(own.toSorted((x, y) => x - y));
        }
        expect(keys.some((key) => turns.has(key))).toBe(false);
      },
    ),
  );
});

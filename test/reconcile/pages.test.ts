import fc from 'fast-check';
import { addDays } from '../../src/common/days.ts';
import { windowsOf } from '../../src/reconcile/days.ts';
import { nextOf, type ReadPage } from '../../src/reconcile/pages.ts';

it('windows have each day once, and at most seven', () => {
  fc.assert(
    fc.property(fc.nat(20_000), fc.nat(100), (start, length) => {
      const from = addDays('1990-01-01', start);
      const to = addDays(from, length);
      const days = windowsOf({ from, to }).map((window) => {
        const found = [];
        for (let day = window.from; day <= window.to; day = addDays(day, 1)) found.push(day);
        expect(found.length).toBeGreaterThan(0);
        expect(found.length).toBeLessThanOrEqual(7);
        return found;
      });
      expect(days.flat()).toEqual(Array.from({ length: length + 1 }, (_, index) => addDays(from, index)));
    }),
  );
});

const page = (round: number, number: number, more: Partial<ReadPage> = {}): ReadPage => ({
  ...{ from: '2026-06-01', round, page: number, isLast: false, hasLate: round === 1, ids: ['a'] },
  askedAt: new Date(round * 1_000_000 + number),
  ...more,
});

it('a window of one page is complete, one of several after a round without anything late', () => {
  const read = (round: number, number: number) => ({ step: 'read', round, page: number });
  expect(nextOf([])).toEqual(read(1, 0));
  expect(nextOf([page(1, 0, { isLast: true })])).toEqual({ step: 'complete', asOf: new Date(1_000_000) });
  const first = [page(1, 0), page(1, 1, { isLast: true })];
  expect(nextOf(first.slice(0, 1))).toEqual(read(1, 1));
  expect(nextOf(first)).toEqual(read(2, 0));
  const calm = [...first, page(2, 0), page(2, 1, { isLast: true })];
  expect(nextOf(calm)).toEqual({ step: 'complete', asOf: new Date(1_000_000) });
  const shifting = [...first, page(2, 0, { hasLate: true }), page(2, 1, { isLast: true })];
  expect(nextOf(shifting)).toEqual(read(3, 0));
});

it('a window whose pages shift in every round does not count as compared', () => {
  const rounds = [1, 2, 3, 4, 5].flatMap((round) => [
    page(round, 0, { hasLate: true }),
    page(round, 1, { isLast: true }),
  ]);
  expect(nextOf(rounds)).toEqual({ step: 'unsettled' });
});

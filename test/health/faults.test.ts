import fc from 'fast-check';
import { families } from '../../src/families/index.ts';
import { findFaults } from '../../src/health/faults.ts';
import type { Problem } from '../../src/health/problem.ts';

const fail = (kind: Problem['kind'], subject: string, title: string): Problem => ({
  kind,
  subject,
  status: 'fail',
  title,
  detail: `What to do about ${title}`,
  since: new Date(0),
});
const noWorker = fail('no worker', 'receipt', 'No worker');
const lockedReceipts = fail('locked', 'receipts 7', 'Receipts are locked');
const lockedQuarantine = fail('locked', 'quarantine 7', 'Quarantine is locked');
const unknown = fail('not yet known' as never, '', 'A problem of a later version');
const warning: Problem = { ...fail('gaps', '', 'A warning'), status: 'warn' };

const ok = { ok: true, detail: '' };
const failing = { ok: false, detail: '', since: new Date(0) };

const whatOf = (faults: ReturnType<typeof findFaults>) => faults.map(({ what }) => what);

it('names all that is broken, each with what to do: first what may lose callbacks, then what delays them', () => {
  const faults = findFaults({
    parts: { database: failing, queue: failing, worker: failing },
    problems: [noWorker, lockedQuarantine, warning],
    outage: '3 are safe in Redis.',
    families,
  });
  expect(whatOf(faults)).toEqual([
    'PostgreSQL does not answer',
    'Quarantine is locked',
    'The queue does not answer',
    'This process takes no jobs',
    'No worker',
  ]);
  expect(faults[0]!.callbacks).toBe('3 are safe in Redis.');
  expect(faults.every(({ todo }) => todo !== '')).toBe(true);
});

it('whatever fails is named, and callbacks are called safe only where nothing says otherwise', () => {
  const problem = fc.constantFrom(noWorker, lockedReceipts, lockedQuarantine, unknown, warning);
  const state = fc.record({
    problems: fc.option(fc.uniqueArray(problem), { nil: undefined }),
    isAway: fc.boolean(),
    isQueueAway: fc.boolean(),
  });
  fc.assert(
    fc.property(state, ({ problems, isAway, isQueueAway }) => {
      const parts = { database: isAway ? failing : ok, queue: isQueueAway ? failing : ok };
      const faults = findFaults({ parts, problems, outage: undefined, families });
      const failures = problems?.filter(({ status }) => status === 'fail') ?? [];
      expect(whatOf(faults)).toEqual(expect.arrayContaining(failures.map(({ title }) => title)));
      const isDoubtful = isAway || failures.some((one) => one === lockedQuarantine || one === unknown);
      const saysSafe = faults.some(({ callbacks }) => /accepted, and safe/.test(callbacks));
      expect(isDoubtful && saysSafe).toBe(false);
      const isWell = problems && failures.length === 0 && !isAway && !isQueueAway;
      expect(faults.length === 0).toBe(Boolean(isWell));
    }),
  );
});

import fc from 'fast-check';
import { type Alert, afterSending, type Condition, isDue, updateAlerts } from '../../src/alerts/alert.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const delays = { afterMs: { redis: 2 * minuteMs }, settledMs: 5 * minuteMs };

interface Step {
  /** The subjects that are wrong; undefined: they could not be checked. */
  wrong: string[] | undefined;
  /** Until the next step; negative: the clock is set back. */
  ms: number;
  accepted: boolean;
}

/** Runs passes of one channel; returns what it was told, with the number of the step. */
function run(name: string, steps: readonly Step[]) {
  const told: { step: number; subject: string; what: 'began' | 'still on' | 'ended' }[] = [];
  let alerts: Alert[] = [];
  let now = 1_700_000_000_000;
  for (const [step, { wrong, ms, accepted }] of steps.entries()) {
    const conditions = (wrong ?? []).map((subject): Condition => ({ name, subject, detail: {} }));
    alerts = updateAlerts('webhook', alerts, conditions, new Set(wrong ? [name] : []), now, delays);
    alerts = alerts.flatMap((alert) => {
      if (!accepted || !isDue(alert, now, delays)) return [alert];
      const { subject, sentAt, endedAt } = alert;
      told.push({ step, subject, what: endedAt !== null ? 'ended' : sentAt === null ? 'began' : 'still on' });
      return afterSending(alert, now);
    });
    now += ms;
  }
  return { told, alerts };
}

const step = fc.record({
  wrong: fc.option(fc.subarray(['a', 'b']), { nil: undefined }),
  ms: fc.integer({ min: -dayMs, max: 2 * dayMs }),
  accepted: fc.boolean(),
});
const ok: Step = { wrong: [], ms: 5 * minuteMs, accepted: true };

it('whatever happens, each start has one end, and a channel that works is told of everything', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { told, alerts } = run('failed', [...steps, ok, ok]);
      expect(alerts).toEqual([]);
      for (const subject of ['a', 'b']) {
        const own = told.filter((one) => one.subject === subject).map(({ what }) => what);
        // A start that could not be sent before its end is told with the end.
        expect(own.join(' ').replaceAll(/(began (still on )*)?ended ?/g, '')).toBe('');
        const wasWrong = steps.some(({ wrong }) => wrong?.includes(subject));
        expect(own.includes('ended')).toBe(wasWrong);
      }
    }),
  );
});

it('a start is sent in the pass that finds it, unless the channel fails', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { told } = run('failed', steps);
      const first = steps.findIndex(({ wrong }) => wrong?.includes('a'));
      if (first < 0 || !steps[first]!.accepted) return;
      expect(told.find(({ subject }) => subject === 'a')).toEqual({
        step: first,
        subject: 'a',
        what: 'began',
      });
    }),
  );
});

it('what lasts is repeated once a day', () => {
  const lasting: Step = { wrong: ['a'], ms: 60 * minuteMs, accepted: true };
  const { told } = run('failed', Array(60).fill(lasting));
  expect(told.map(({ step: number, what }) => [number, what])).toEqual([
    [0, 'began'],
    [24, 'still on'],
    [48, 'still on'],
  ]);
});

it('an outage that is short, or seen by one worker and not by another, is no stream of messages', () => {
  const seen: Step = { wrong: [''], ms: minuteMs, accepted: true };
  const unseen: Step = { ...seen, wrong: [] };
  expect(run('redis', [seen, unseen, ...Array(9).fill(unseen)])).toEqual({ told: [], alerts: [] });
  const differing = Array.from({ length: 100 }, (_, index) => (index % 2 ? seen : unseen));
  expect(run('redis', [...differing, ...Array(9).fill(unseen)]).told.map(({ what }) => what)).toEqual([
    'began',
    'ended',
  ]);
});

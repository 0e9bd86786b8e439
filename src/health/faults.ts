import type { Readiness } from '../common/readiness.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Family } from '../families/index.ts';
import type { Problem } from './problem.ts';

/** Something that is broken, for the person who has to mend it. */
export interface Fault {
  what: string;
  since?: Date | undefined;
  /** Whether callbacks are safe. */
  callbacks: string;
  todo: string;
}

interface Found extends Pick<Readiness, 'parts'> {
  /** Undefined: what is wrong with processing could not be read. */
  problems: readonly Problem[] | undefined;
  /** What becomes of callbacks without PostgreSQL; undefined: it is available. */
  outage: string | undefined;
  families: readonly Family[];
}

const doctor = '`npx receiver doctor` says more.';

/** Whether callbacks are stored in spite of a problem: a worker, and the tables of families, are only for applying them. */
const isOfApplying = ({ kind, subject }: Problem, families: readonly Family[]) =>
  ['backlog', 'stalled', 'no worker', 'set aside', 'damaged'].includes(kind) ||
  (kind === 'locked' && families.some(({ table }) => table === subject.split(' ')[0]));

/** All that is broken, the worst first: what may lose callbacks, then what only delays them. */
export function findFaults({ parts, problems, outage, families }: Found): Fault[] {
  const { database, queue, worker } = parts;
  const isAway = outage !== undefined || database?.ok === false;
  const failing = problems?.filter(({ status }) => status === 'fail') ?? [];
  const doubtful = failing.filter((problem) => !isOfApplying(problem, families));
  const delaying = failing.filter((problem) => isOfApplying(problem, families));
  // Beside something worse, nobody may read that all is safe.
  const areSafe =
    isAway || doubtful.length > 0
      ? 'This alone loses no callback'
      : 'Callbacks are accepted, and safe in PostgreSQL';
  const faults: (Fault | false | undefined)[] = [
    isAway && {
      what: 'PostgreSQL does not answer',
      since: database?.since,
      callbacks: outage ?? 'What becomes of callbacks is not known.',
      todo: `See whether PostgreSQL runs, and whether somebody holds a lock. ${doctor} Afterwards what waits is applied by itself.`,
    },
    ...doubtful.map((problem) => faultOf(problem, 'Whether all callbacks are safe meanwhile is not known.')),
    queue?.ok === false && {
      what: 'The queue does not answer',
      since: queue.since,
      callbacks: `${areSafe}; they are applied, a little later than usual.`,
      todo: `See whether Redis runs, and whether it is full. ${doctor}`,
    },
    worker?.ok === false && {
      what: 'This process takes no jobs',
      callbacks: `${areSafe}; they are not applied until a worker runs.`,
      todo: 'Restart it, and see its log.',
    },
    ...delaying.map((problem) => faultOf(problem, `${areSafe}; some are not in the reports yet.`)),
    !(problems || isAway) && {
      what: 'What is wrong with processing could not be read',
      callbacks: `${areSafe}, as far as it is known.`,
      todo: `Reload the page. ${doctor}`,
    },
  ];
  return faults.filter((fault) => !!fault);
}

const faultOf = ({ title, detail, since }: Problem, callbacks: string): Fault => ({
  what: title,
  since,
  callbacks,
  todo: `${detail}.`,
});

interface Fallback {
  count: () => Promise<number>;
  oldest: () => Promise<Date | undefined>;
  /** Whether what is stored there is acknowledged, and why. */
  readState: () => Promise<{ acknowledges: boolean; detail: string }>;
}

const timeoutMs = 1_000;

/** What becomes of callbacks while PostgreSQL is unavailable. */
export async function describeOutage(fallback: Fallback | undefined): Promise<string> {
  if (!fallback) {
    return 'No Redis is configured, so callbacks get a 503 until then: what the sender does not send again is lost.';
  }
  try {
    const [count, since, { acknowledges, detail }] = await withTimeout(
      timeoutMs,
      Promise.all([fallback.count(), fallback.oldest(), fallback.readState()]),
    );
    const waiting = since && `${count} since ${since.toISOString()}`;
    if (!acknowledges) {
      const before = waiting ? ` In Redis wait ${waiting}: do not wipe it.` : '';
      return `Callbacks get a 503 until then, because none is acknowledged from Redis: ${detail}.${before}`;
    }
    if (!waiting) return 'Callbacks that arrive meanwhile are safe in Redis; there are none yet.';
    return `Callbacks are safe in Redis until then: ${waiting}. Do not wipe Redis.`;
  } catch {
    return 'How many callbacks are in Redis could not be read. While Redis is unavailable too, they get a 503.';
  }
}

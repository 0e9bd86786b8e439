import { useContext } from 'preact/hooks';
import type { Readiness } from '../../common/readiness.ts';
import type { Family } from '../../families/index.ts';
import type { Problem } from '../../health/problem.ts';
import { VisitContext } from '../ui/context.ts';
import { formatMoment } from '../ui/time.ts';

interface BrokenProps extends Pick<Readiness, 'parts'> {
  /** Undefined: what is wrong with processing could not be read. */
  problems: readonly Problem[] | undefined;
  /** What becomes of callbacks without PostgreSQL; undefined: it is available. */
  outage: string | undefined;
  families: readonly Family[];
}

interface Fault {
  what: string;
  since?: Date | undefined;
  /** Whether callbacks are safe. */
  callbacks: string;
  todo: string;
}

const areSafe = 'Callbacks are accepted, and safe in PostgreSQL';
const doctor = '`npx receiver doctor` says more.';

/** Whether callbacks are stored in spite of a problem: a worker, and the tables of families, are only for applying them. */
const isOfApplying = ({ kind, subject }: Problem, families: readonly Family[]) =>
  ['backlog', 'stalled', 'no worker'].includes(kind) ||
  (kind === 'locked' && families.some(({ table }) => table === subject.split(' ')[0]));

/** The worst that is broken; undefined: nothing is, as far as it is known. */
function faultOf({ parts, problems, outage, families }: BrokenProps): Fault | undefined {
  const { database, queue, worker } = parts;
  if (outage || database?.ok === false) {
    return {
      what: 'PostgreSQL does not answer',
      since: database?.since,
      callbacks: outage ?? 'What becomes of callbacks is not known.',
      todo: `See whether PostgreSQL runs, and whether somebody holds a lock. ${doctor} Afterwards nothing has to be done: what waits is applied by itself.`,
    };
  }
  if (queue?.ok === false) {
    return {
      what: 'The queue does not answer',
      since: queue.since,
      callbacks: `${areSafe}; they are applied, a little later than usual.`,
      todo: `See whether Redis runs, and whether it is full. ${doctor}`,
    };
  }
  if (worker?.ok === false) {
    return {
      what: 'This process takes no jobs',
      callbacks: `${areSafe}; they are not applied until a worker runs.`,
      todo: 'Restart it, and see its log.',
    };
  }
  const failures = problems?.filter(({ status }) => status === 'fail') ?? [];
  const [failing] = failures;
  if (failing) {
    const isKnown = failures.every((problem) => isOfApplying(problem, families));
    return {
      what: failing.title,
      callbacks: isKnown
        ? `${areSafe}; some are not in the reports yet.`
        : 'Whether all callbacks are safe meanwhile is not known.',
      todo: `${failing.detail}.`,
    };
  }
  if (problems) return undefined;
  return {
    what: 'What is wrong with processing could not be read',
    callbacks: `${areSafe}, as far as it is known.`,
    todo: `Reload the page. ${doctor}`,
  };
}

/** What is broken, since when, whether callbacks are safe, and what to do: before everything else. */
export function Broken(props: BrokenProps) {
  const { timezone } = useContext(VisitContext);
  const fault = faultOf(props);
  if (!fault) return null;
  const { what, since, callbacks, todo } = fault;
  return (
    <section class="broken" role="alert" aria-labelledby="broken">
      <h2 id="broken">
        {what}
        {since && ` since ${formatMoment(since, timezone)}`}
      </h2>
      <p>
        <strong>{callbacks}</strong>
      </p>
      <p>{todo}</p>
      {props.outage && <p>Until then, this is the only page. Reload it to see whether PostgreSQL answers.</p>}
    </section>
  );
}

import { useContext } from 'preact/hooks';
import { formatMoment } from '../../common/times.ts';
import type { Fault } from '../../health/faults.ts';
import { VisitContext } from '../ui/context.ts';

/** What is broken, since when, whether callbacks are safe, and what to do: before everything else. */
export function Broken({ faults, isAway }: { faults: readonly Fault[]; isAway: boolean }) {
  const { timezone } = useContext(VisitContext);
  if (faults.length === 0) return null;
  return (
    <section class="broken" role="alert" aria-label="What is broken">
      {faults.map(({ what, since, callbacks, todo }) => (
        <div key={what}>
          <h2>
            {what}
            {since && ` since ${formatMoment(since, timezone)}`}
          </h2>
          <p>
            <strong>{callbacks}</strong>
          </p>
          <p>{todo}</p>
        </div>
      ))}
      {isAway && <p>Until then, this is the only page. Reload it to see whether PostgreSQL answers.</p>}
    </section>
  );
}

import type { VNode } from 'preact';
import type { ConsoleDependencies } from '../dependencies.ts';
import { describeOutage } from '../outage.ts';
import { HealthChecks } from './pages.tsx';
import { Problems } from './problems.tsx';

/**
 * The content of the page Health. It holds no patients' data, and needs no database.
 *
 * @param isAway whether PostgreSQL is unavailable
 */
export async function readHealth(
  dependencies: Pick<ConsoleDependencies, 'readiness' | 'problems' | 'receiver' | 'fallback'>,
  isAway: boolean,
): Promise<VNode> {
  const { readiness, problems, receiver } = dependencies;
  const [{ parts }, found, outage] = await Promise.all([
    readiness(),
    problems().catch(() => undefined),
    isAway ? describeOutage(dependencies) : undefined,
  ]);
  return (
    <>
      {outage && (
        <section class="warning">
          <h2>PostgreSQL is unavailable</h2>
          <p>{outage}</p>
          <p>Until it is available, this is the only page. Reload it to see whether it is.</p>
        </section>
      )}
      {!(outage && !found) && <Problems problems={found} />}
      <HealthChecks parts={parts} open={receiver.checks.length === 0} />
    </>
  );
}

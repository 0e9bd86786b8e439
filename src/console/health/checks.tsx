import type { Readiness } from '../../common/readiness.ts';
import { withTimeout } from '../../common/with-timeout.ts';
import type { Problem } from '../../health/problem.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { Table } from '../ui/table.tsx';
import { Broken } from './broken.tsx';

/** It holds no patients' data, and needs no database. @param isAway whether PostgreSQL is unavailable */
export async function readHealth(dependencies: Omit<ConsoleDependencies, 'config'>, isAway: boolean) {
  const { readiness, problems, receiver, families } = dependencies;
  const [{ parts }, found, outage] = await Promise.all([
    readiness(),
    problems().catch(() => undefined),
    isAway ? describeOutage(dependencies) : undefined,
  ]);
  const open = receiver.checks.length === 0;
  return (
    <>
      <Broken {...{ parts, problems: found, outage, families }} />
      {!(outage && !found) && <ProblemList problems={found} />}
      {open && (
        <section class="warning">
          <h2>Anybody can send callbacks</h2>
          <p>
            No access check is configured: whoever knows an address can add receipts. Set{' '}
            <code>SIGNING_KEYS</code>, <code>ALLOWED_IPS</code>, <code>ALLOWED_CLIENT_IDS</code>,{' '}
            <code>ALLOWED_BUSINESS_IDS</code>, or paths with an unguessable part.
          </p>
        </section>
      )}
      <HealthChecks parts={parts} open={open} />
    </>
  );
}

/** What is wrong with processing; undefined: it could not be read. */
export function ProblemList({ problems }: { problems: readonly Problem[] | undefined }) {
  if (!problems) {
    return (
      <section class="warning">
        <h2>What is wrong with processing could not be read</h2>
      </section>
    );
  }
  if (problems.length === 0) return null;
  return (
    <section class="warning" aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      <ul>
        {problems.map(({ kind, subject, status, title, detail, page }) => (
          <li key={`${kind} ${subject}`}>
            <strong class={status === 'fail' ? 'bad' : 'warn'}>{title}</strong>. {detail}
            {page && (
              <>
                . <a href={`/console${page}`}>Show the oldest</a>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** @param open whether no access check of callbacks is configured */
export function HealthChecks({ parts, open }: Pick<Readiness, 'parts'> & { open: boolean }) {
  return (
    <Table
      label="Health checks"
      rows={Object.entries(parts)}
      empty="No checks."
      columns={[
        { head: 'Check', cell: ([name]) => name },
        { head: 'State', cell: ([name, { ok }]) => stateOf(ok, name === 'access' && open) },
        { head: 'Detail', cell: ([, { detail }]) => detail },
      ]}
    />
  );
}

function stateOf(ok: boolean, isOpen: boolean) {
  if (isOpen) return <span class="warn">open</span>;
  return <span class={ok ? 'good' : 'bad'}>{ok ? 'ok' : 'failing'}</span>;
}

const timeoutMs = 1_000;

/** What becomes of callbacks while PostgreSQL is unavailable. */
export async function describeOutage({ fallback }: Pick<ConsoleDependencies, 'fallback'>): Promise<string> {
  if (!fallback) {
    return 'No Redis is configured, so callbacks get a 503 until then: what the sender does not send again is lost.';
  }
  try {
    const [count, since] = await withTimeout(timeoutMs, Promise.all([fallback.count(), fallback.oldest()]));
    if (!since) return 'Callbacks that arrive meanwhile are safe in Redis; there are none yet.';
    return `Callbacks are safe in Redis until then: ${count} since ${since.toISOString()}. Do not wipe Redis.`;
  } catch {
    return 'How many callbacks are in Redis could not be read. While Redis is unavailable too, they get a 503.';
  }
}

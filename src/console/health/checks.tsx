import type { Readiness } from '../../common/readiness.ts';
import { describeOutage, findFaults } from '../../health/faults.ts';
import type { Problem } from '../../health/problem.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { Table } from '../ui/table.tsx';
import { ToDo } from '../ui/to-do.tsx';
import { Broken } from './broken.tsx';

/** It holds no patients' data, and needs no database. @param isAway whether PostgreSQL is unavailable */
export async function readHealth(dependencies: Omit<ConsoleDependencies, 'config'>, isAway: boolean) {
  const { readiness, problems, receiver, families, fallback } = dependencies;
  const [{ parts }, found, outage] = await Promise.all([
    readiness(),
    problems().catch(() => undefined),
    isAway ? describeOutage(fallback) : undefined,
  ]);
  const open = receiver.checks.length === 0;
  return (
    <>
      <Broken faults={findFaults({ parts, problems: found, outage, families })} isAway={isAway} />
      <ToDo title="Warnings" items={found?.filter(({ status }) => status !== 'fail').map(warningOf) ?? []} />
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

const warningOf = ({ title, detail, page }: Problem) => (
  <>
    <strong class="warn">{title}</strong>. {detail}
    {page && (
      <>
        . <a href={`/console${page}`}>Show the oldest</a>
      </>
    )}
  </>
);

/** @param open whether no access check of callbacks is configured */
function HealthChecks({ parts, open }: Pick<Readiness, 'parts'> & { open: boolean }) {
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

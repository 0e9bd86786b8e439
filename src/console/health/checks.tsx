import type { Readiness } from '../../common/readiness.ts';
import { withTimeout } from '../../common/with-timeout.ts';
import type { Family } from '../../families/index.ts';
import type { Problem } from '../../health/problem.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { Table } from '../ui/table.tsx';

/** It holds no patients' data, and needs no database. @param isAway whether PostgreSQL is unavailable */
export async function readHealth(dependencies: Omit<ConsoleDependencies, 'config'>, isAway: boolean) {
  const { readiness, problems, receiver, fallback, families } = dependencies;
  const [{ parts }, found, outage] = await Promise.all([
    readiness(),
    problems().catch(() => undefined),
    isAway ? describeOutage(dependencies) : undefined,
  ]);
  const open = receiver.checks.length === 0;
  const isStored = parts.database?.ok === true;
  return (
    <>
      {fallback && !parts.fallback?.ok && <RedisAway isStored={isStored} />}
      {outage && (
        <section class="warning">
          <h2>PostgreSQL is unavailable</h2>
          <p>{outage}</p>
          <p>Until it is available, this is the only page. Reload it to see whether it is.</p>
        </section>
      )}
      {!(outage && !found) && <ProblemList problems={found} tables={isStored ? tablesOf(families) : []} />}
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

/** @param isStored whether PostgreSQL accepts deliveries */
function RedisAway({ isStored }: { isStored: boolean }) {
  return (
    <section class="warning">
      <h2>Redis does not answer</h2>
      <p>
        {isStored
          ? 'Callbacks are accepted, and are safe in PostgreSQL. They are applied once Redis is available.'
          : 'Neither store accepts callbacks: they get a 503, and what the sender does not send again is lost.'}{' '}
        Start Redis, or repair the way to <code>REDIS_URL</code>.
      </p>
    </section>
  );
}

const tablesOf = (families: readonly Family[]) => families.map(({ table }) => table);

/** Whether callbacks are stored in spite of a problem: only applying them takes a worker, and the tables of families. */
const isOfApplying = ({ kind, subject }: Problem, tables: readonly string[]) =>
  ['backlog', 'stalled', 'no worker'].includes(kind) ||
  (kind === 'locked' && tables.includes(subject.split(' ')[0]!));

interface ProblemListProps {
  /** Undefined: what is wrong with processing could not be read. */
  problems: readonly Problem[] | undefined;
  /** The tables of all families while deliveries are stored; otherwise none. */
  tables: readonly string[];
}

function ProblemList({ problems, tables }: ProblemListProps) {
  if (!problems) {
    return (
      <section class="warning">
        <h2>What is wrong with processing could not be read</h2>
      </section>
    );
  }
  if (problems.length === 0) return null;
  const failing = problems.filter(({ status }) => status === 'fail');
  const isSafe =
    tables.length > 0 && failing.length > 0 && failing.every((problem) => isOfApplying(problem, tables));
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
      {isSafe && (
        <p>Callbacks are accepted meanwhile, and wait safe in PostgreSQL until they can be applied.</p>
      )}
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

import { sql } from 'kysely';
import { MissingSettings, parseSettings } from '../client/commands/settings.ts';
import { createServiceClient } from '../client/service-client.ts';
import type { Config } from '../config/config.ts';
import type { Check } from './finding.ts';
import { checkClock } from './machine.ts';
import type { DatabaseCheck } from './tables.ts';

/** Shorter than the time limit of a check. */
const timeoutMs = 6_000;

/**
 * Whether the credentials of the platform work, with RECONCILE for the appointments, and its clock, where its address is set.
 */
export const checkPlatform: Check = async (subject, report) => {
  const { env, config, redact } = subject;
  if (!env.SERVICE_BASE_URL) return;
  try {
    const client = createServiceClient(parseSettings(env));
    const readTime = async () => {
      const signal = AbortSignal.timeout(timeoutMs);
      const today = new Date().toISOString().slice(0, 10);
      const { answeredAt } = config.reconcile
        ? await client.appointmentsPage({ startDate: today, endDate: today, pageNo: 0 }, { signal })
        : await client.directory({ signal });
      report('ok', 'platform', `the credentials work for ${subjectOf(config)}`);
      return answeredAt.getTime();
    };
    const { signingKeys, signatureToleranceS } = config.authentication;
    const seconds = signingKeys.length > 0 ? signatureToleranceS : Number.POSITIVE_INFINITY;
    const effect =
      'more than a signature may be old. Unless it is that of PostgreSQL, all callbacks are rejected';
    await checkClock('the platform', readTime, report, { seconds, effect });
  } catch (error) {
    const { message } = error as Error;
    const cause = error instanceof MissingSettings ? message : redact(message);
    const fix = 'Check SERVICE_BASE_URL, the credentials and their rights';
    const status = config.reconcile ? 'fail' : 'warn';
    report(status, 'platform', `${subjectOf(config)} could not be read: ${cause}. ${fix}`);
  }
};

const subjectOf = ({ reconcile }: Pick<Config, 'reconcile'>) =>
  reconcile ? 'appointments' : 'the directory';

/** Which days are compared with the platform, and when that was done, where its address is set. */
export const checkReconciliation: DatabaseCheck = async ({ db }, report, { env, config }) => {
  if (!env.SERVICE_BASE_URL) return;
  const { rows: tables } = await sql`select where to_regclass('reconciliations') is not null`.execute(db);
  if (tables.length === 0) return; // a migration is missing, which is reported
  const { rows } = await sql<{ first: string; last: string; from: string; to: string; ended: Date | null }>`
    select (reporting.today() - ${config.reconcile?.days ?? 0}::int)::text as first, reporting.today()::text as last,
      from_day::text as from, to_day::text as to, ended_at as ended
    from (values (1)) as one
    left join (select from_day, to_day, ended_at from reconciliations where ended_at is not null order by ended_at desc limit 1)
      newest on true`.execute(db);
  const { first, last, from, to, ended } = rows[0]!;
  const done = ended
    ? `The last comparison was completed at ${ended.toISOString()}, of ${from} to ${to}`
    : 'None was completed yet';
  const plan = config.reconcile
    ? `today ${first} to ${last} are compared`
    : 'RECONCILE is not set: nothing is compared by itself';
  report('ok', 'reconciliation', `${plan}. ${done}`);
};

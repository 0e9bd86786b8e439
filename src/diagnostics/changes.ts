import { sql } from 'kysely';
import type { Config } from '../config/config.ts';
import type { Check } from './finding.ts';
import type { DatabaseCheck } from './tables.ts';

/** Who may read the feed of changes. */
export const checkChanges: Check = ({ config }, report) => {
  const { changes } = config;
  if (!changes || config.role === 'worker') return;
  const { tokens } = changes;
  const fix = 'Set another: openssl rand -hex 24';
  for (const variable of othersWith(config)) {
    report('warn', 'changes', `CHANGES_TOKENS has the ${variable}: who reads changes may do more. ${fix}`);
  }
  const publicOnes = tokens.filter(({ isPublic }) => isPublic).length;
  report('ok', 'changes', `${tokens.length} in CHANGES_TOKENS, ${publicOnes} of them public`);
};

/** The variables that have a token of the feed as their value, too. */
function othersWith({ changes, adminToken, metricsToken, authentication }: Config): string[] {
  const others = {
    ADMIN_TOKEN: [adminToken],
    METRICS_TOKEN: [metricsToken],
    SIGNING_KEYS: authentication.signingKeys,
  };
  const isToken = (text: string | undefined) => changes!.tokens.some(({ token }) => token === text);
  return Object.entries(others).flatMap(([variable, values]) => (values.some(isToken) ? [variable] : []));
}

/** What the destinations of webhooks do; those that were stopped are problems of processing. */
export const checkDestinations: DatabaseCheck = async ({ db }, report) => {
  const { rows } = await sql`select where to_regclass('destinations') is not null`.execute(db);
  if (rows.length === 0) return; // a migration is missing, which is reported
  const { rows: counts } = await sql<{ state: string; count: number }>`
    select case
        when state = 'active' and failing_since is not null then 'failing'
        when state <> 'active' and reason is not null then 'stopped'
        else state
      end as state, count(*)::int as count
    from destinations group by 1`.execute(db);
  if (counts.length === 0) return;
  const states = counts.map(({ state, count }) => `${count} ${state}`).join(', ');
  const isWell = counts.every(({ state }) => state !== 'failing');
  report(
    isWell ? 'ok' : 'warn',
    'destinations',
    `${states}${isWell ? '' : '. receiver destinations list tells why'}`,
  );
};

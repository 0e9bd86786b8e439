import { sql } from 'kysely';
import { networkList } from '../common/address.ts';
import type { Config } from '../config/config.ts';
import { readSending } from '../store/read-sending.ts';
import type { Check } from './finding.ts';
import { isBehindUncountedProxy } from './senders.ts';
import type { DatabaseCheck } from './tables.ts';

/** Who may read the feed of changes, and which private addresses webhooks may be sent to. */
export const checkChanges: Check = ({ config }, report) => {
  const { changes, destinations, production } = config;
  const wide = destinations.allow.filter(isWide);
  if (wide.length > 0) {
    const fix = 'List the addresses of the destinations alone';
    report('warn', 'destinations', `DESTINATIONS_ALLOW has ${wide.join(', ')}: more than a network. ${fix}`);
  }
  const reached = inside.filter(({ address }) => networkList(destinations.allow)(address));
  for (const { what } of production ? reached : reached.filter(({ always }) => always)) {
    report('warn', 'destinations', `DESTINATIONS_ALLOW lets webhooks reach ${what}. Remove that`);
  }
  if (!changes || config.role === 'worker') return;
  const { tokens, allowedIps } = changes;
  const fix = 'Set another: openssl rand -hex 24';
  if (new Set(tokens.map(({ token }) => token)).size < tokens.length) {
    report('warn', 'changes', `CHANGES_TOKENS has a token twice: the first one counts. ${fix}`);
  }
  for (const variable of othersWith(config)) {
    report('warn', 'changes', `CHANGES_TOKENS has the ${variable}: who reads changes may do more. ${fix}`);
  }
  if (isBehindUncountedProxy(config, allowedIps)) {
    const cause = `HOST is ${config.host}, which only this machine reaches, and CHANGES_ALLOWED_IPS does not contain it`;
    report('fail', 'changes', `${cause}. Set TRUST_PROXY to the number of proxies in front`);
  }
  const publicOnes = tokens.filter(({ isPublic }) => isPublic).length;
  const who = `${tokens.length} in CHANGES_TOKENS, ${publicOnes} of them public`;
  if (allowedIps.length > 0)
    return report('ok', 'changes', `${who}; from ${allowedIps.length} of CHANGES_ALLOWED_IPS`);
  const status = production && publicOnes < tokens.length ? 'warn' : 'ok';
  report(status, 'changes', `${who}; from any address. CHANGES_ALLOWED_IPS limits that`);
};

/** Larger than a network of a site: 65,536 addresses of IPv4, or one subnet of IPv6. */
function isWide(network: string): boolean {
  const [address, prefix] = network.split('/');
  return prefix !== undefined && Number(prefix) < (address!.includes(':') ? 64 : 16);
}

/** Addresses behind which there is more than a destination. */
const inside = [
  { address: '127.0.0.1', what: 'this machine', always: false },
  { address: '169.254.169.254', what: 'the metadata of the cloud, with its credentials', always: true },
];

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
export const checkDestinations: DatabaseCheck = async ({ db, pool }, report) => {
  const { rows } = await sql`select where to_regclass('destinations') is not null`.execute(db);
  if (rows.length === 0) return; // a migration is missing, which is reported
  const { destinations, waiting, parked } = await readSending(pool);
  if (destinations.size === 0) return;
  const states = Array.from(destinations, ([state, count]) => `${count} ${state}`).join(', ');
  const isWell = !destinations.has('failing') && parked === 0;
  const fix = 'receiver destinations list, and show, tell why';
  const records = `${waiting} records wait, ${parked} were given up`;
  report(isWell ? 'ok' : 'warn', 'destinations', `${states}; ${records}${isWell ? '' : `. ${fix}`}`);
};

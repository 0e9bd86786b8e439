import { networkList } from '../common/address.ts';
import type { Config } from '../config/config.ts';
import { isUnguessable } from '../config/unguessable.ts';
import { families } from '../families/index.ts';
import { configuredChecks, describeWeakKeys } from '../receiver/http/access.ts';
import type { Check } from './finding.ts';

/** How legitimate senders are told from others, and where callbacks arrive; never a path itself. */
export const checkSenders: Check = ({ env, config, invalid }, report) => {
  if (config.role === 'worker') return;
  const checks = configuredChecks(config);
  if (checks.length > 0) {
    report('ok', 'senders', `checked by ${checks.join(', ')}`);
  } else if (!invalid.has('SIGNING_KEYS')) {
    const fix = 'Set SIGNING_KEYS or ALLOWED_IPS, or NODE_ENV=production and an unguessable EVENTS_PATH';
    report('warn', 'senders', `not checked: anybody can send callbacks. ${fix}`);
  }
  const weak = describeWeakKeys(config.authentication);
  if (weak) report('warn', 'senders', weak);
  const served = families.flatMap(({ name, path }) => {
    const paths = config.paths[name]!;
    if (paths.length === 0 || !('variable' in path)) return [];
    const kind = paths.every(isUnguessable) ? 'unguessable' : 'guessable';
    return [`${path.variable} (${env[path.variable] ? kind : 'default'})`];
  });
  report('ok', 'paths', served.join(', '));
  if (isBehindUncountedProxy(config, config.authentication.allowedIps)) {
    const cause = `HOST is ${config.host}, which only this machine reaches, and ALLOWED_IPS does not contain it`;
    report('fail', 'senders', `${cause}. Set TRUST_PROXY to the number of proxies in front`);
  }
};

/** Whether a list of addresses can match nobody: requests come from this machine, by a proxy that TRUST_PROXY does not count. */
function isBehindUncountedProxy({ host, authentication }: Config, allowedIps: readonly string[]): boolean {
  const isLocal = /^(127\.|::1$|localhost$)/.test(host);
  const isUncounted = authentication.trustProxy === 0 && isLocal;
  return isUncounted && allowedIps.length > 0 && !networkList(allowedIps)('127.0.0.1');
}

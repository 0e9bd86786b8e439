import { networkList } from '../common/address.ts';
import { isUnguessable } from '../config/unguessable.ts';
import { families } from '../families/index.ts';
import { configuredChecks, describeWeakKeys } from '../http/access/access-checks.ts';
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
    const isShown = 'isBasic' in path || name === 'other' || env[path.variable];
    if (paths.length === 0 || !isShown) return [];
    const kind = paths.every(isUnguessable) ? 'unguessable' : 'guessable';
    return [`${path.variable} (${env[path.variable] ? kind : 'default'})`];
  });
  report('ok', 'paths', served.join(', '));
  const { allowedIps, trustProxy } = config.authentication;
  const isLocal = /^(127\.|::1$|localhost$)/.test(config.host);
  if (allowedIps.length > 0 && trustProxy === 0 && isLocal && !networkList(allowedIps)('127.0.0.1')) {
    const cause = `HOST is ${config.host}, which only this machine reaches, and ALLOWED_IPS does not contain it`;
    report('fail', 'senders', `${cause}. Set TRUST_PROXY to the number of proxies in front`);
  }
};

import { families } from '../families/index.ts';
import { configuredChecks } from '../http/access/access-checks.ts';
import { networkList } from '../http/access/address.ts';
import { isUnguessable } from '../unguessable.ts';
import type { Check } from './finding.ts';

/** How legitimate senders are told from others, and where callbacks arrive; never a path itself. */
export const checkSenders: Check = ({ env, config, invalid }, report) => {
  if (config.role === 'worker') return;
  const checks = configuredChecks(config);
  if (checks.length > 0) {
    report('ok', 'senders', `checked by ${checks.join(', ')}`);
  } else if (!invalid.has('SIGNING_KEYS')) {
    const fix = 'Set SIGNING_KEYS, ALLOWED_IPS, or an EVENTS_PATH with the output of `openssl rand -hex 16`';
    report('warn', 'senders', `not checked: anybody can send callbacks. ${fix}`);
  }
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
    const fix = 'Set TRUST_PROXY to the number of proxies in front';
    report(
      'fail',
      'senders',
      `HOST is ${config.host}: only programs of this machine reach it, and ALLOWED_IPS has none of them. ${fix}`,
    );
  }
};

import type { Config } from '../../config.ts';
import { isUnguessable } from '../../unguessable.ts';

/** The checks of a sender that are configured, in words; never a key, an id or a path. */
export function describeAccess({ authentication, paths }: Pick<Config, 'authentication' | 'paths'>): string {
  const checks: [isConfigured: boolean, name: string][] = [
    [authentication.signingKeys.length > 0, 'signature'],
    [authentication.allowedIps.length > 0, 'address list'],
    [authentication.allowedClientIds.length > 0, 'client list'],
    [authentication.allowedBusinessIds.length > 0, 'business list'],
    [Object.values(paths).every(isUnguessable), 'unguessable paths'],
  ];
  const configured = checks.filter(([isConfigured]) => isConfigured).map(([, name]) => name);
  return configured.length > 0 ? configured.join(', ') : 'none: anybody can send callbacks';
}

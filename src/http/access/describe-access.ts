import type { Config } from '../../config.ts';
import { isUnguessable } from '../../unguessable.ts';

/** Which of the ways to tell the rightful sender are in force, in words; never a key, an id or a path. */
export function describeAccess({ authentication, paths }: Pick<Config, 'authentication' | 'paths'>): string {
  const ways: [inForce: boolean, name: string][] = [
    [authentication.signingKeys.length > 0, 'signature'],
    [authentication.allowedIps.length > 0, 'address list'],
    [authentication.allowedClientIds.length > 0, 'client list'],
    [authentication.allowedBusinessIds.length > 0, 'business list'],
    [Object.values(paths).every(isUnguessable), 'unguessable paths'],
  ];
  const inForce = ways.filter(([on]) => on).map(([, name]) => name);
  return inForce.length > 0 ? inForce.join(', ') : 'nothing: anybody can send callbacks';
}

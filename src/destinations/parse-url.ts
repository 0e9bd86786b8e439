import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.ts';

/**
 * Reads the address of a destination. What a name leads to is checked when it is connected to.
 *
 * @throws Error with what is wrong with it
 */
export function parseUrl(text: string, rules: AddressRules): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('The address must be a URL such as https://example.org/hooks.');
  if (url.username || url.password || url.hash)
    throw new Error('The address must have no user, password or fragment.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) rules.require(host);
  else if (/(^|\.)localhost$/.test(host)) rules.require('127.0.0.1');
  return url.href;
}

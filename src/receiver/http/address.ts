import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { plainAddress } from '../../common/networks.ts';

/**
 * The address of a request's sender. Each proxy appends the address of its peer to X-Forwarded-For; everything
 * before the part that our own proxies wrote can be forged by the sender.
 *
 * @param proxies how many trusted proxies are in front of the receiver
 * @returns a text that is no address, and so is on no list, where the proxies do not say it: not the address of a proxy
 */
export function addressOf(req: IncomingMessage, proxies: number): string {
  const own = plainAddress(req.socket.remoteAddress ?? 'unknown');
  if (proxies === 0) return own;
  const forwarded = [req.headers['x-forwarded-for'] ?? []].flat().join(',');
  const address = withoutPort(forwarded.split(',').at(-proxies)?.trim() ?? '');
  return isIP(address) ? address : `unknown, behind ${own}`;
}

/** Some proxies write 192.0.2.1:443, [2001:db8::1]:443 or fe80::1%eth0. */
const withoutPort = (hop: string) =>
  plainAddress(hop.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2').replace(/%.*/, ''));

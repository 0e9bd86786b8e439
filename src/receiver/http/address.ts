import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { plainAddress } from '../../common/address.ts';

/**
 * The address of a request's sender. Each proxy appends the address of its peer to X-Forwarded-For; everything
 * before the part that our own proxies wrote can be forged by the sender.
 *
 * @param proxies how many trusted proxies are in front of the receiver
 */
export function addressOf(req: IncomingMessage, proxies: number): string {
  const own = plainAddress(req.socket.remoteAddress ?? 'unknown');
  if (proxies === 0) return own;
  const forwarded = [req.headers['x-forwarded-for'] ?? []].flat().join(',');
  const hops = forwarded.split(',').map((hop) => plainAddress(hop.trim()));
  const address = hops.at(-proxies);
  return address && isIP(address) ? address : own;
}

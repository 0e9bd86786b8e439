import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/**
 * The address of a request's sender. Each proxy appends the address of its peer to X-Forwarded-For; everything
 * before the part that our own proxies wrote can be forged by the sender.
 *
 * @param proxies how many trusted proxies are in front of the service
 */
export function addressOf(req: IncomingMessage, proxies: number): string {
  const own = plain(req.socket.remoteAddress ?? '');
  if (proxies === 0) return own;
  const forwarded = [req.headers['x-forwarded-for'] ?? []].flat().join(',');
  const hops = forwarded.split(',').map((hop) => plain(hop.trim()));
  const address = hops.at(-proxies);
  return address && isIP(address) ? address : own;
}

/** A list of networks, each an address or CIDR of IPv4 or IPv6. */
export function networkList(cidrs: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const { address, prefix, family } = parseNetwork(cidr)!;
    list.addSubnet(address, prefix, family);
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
}

interface Network {
  address: string;
  prefix: number;
  family: 'ipv4' | 'ipv6';
}

/** An address or CIDR; undefined if it is neither. */
export function parseNetwork(cidr: string): Network | undefined {
  const [, address, bits] = /^([^/]+?)(?:\/(\d{1,3}))?$/.exec(cidr) ?? [];
  const version = isIP(address ?? '');
  if (!address || version === 0) return undefined;
  const longest = version === 6 ? 128 : 32;
  const prefix = Number(bits ?? longest);
  return prefix <= longest ? { address, prefix, family: version === 6 ? 'ipv6' : 'ipv4' } : undefined;
}

// A socket that listens on IPv6 shows IPv4 addresses as ::ffff:192.0.2.1.
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

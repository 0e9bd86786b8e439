import { BlockList, isIP, isIPv6 } from 'node:net';

/** What limits count: an IPv4 address, or the /64 of an IPv6 address, such as `2001:db8:0:7::/64`, which one sender usually has. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  // The zone of a link-local address is behind a %.
  const [head = '', tail] = address.split('%')[0]!.split('::').map(groupsOf);
  const missing = tail ? 8 - head.length - tail.length : 0;
  const groups = [...head, ...Array<string>(missing).fill('0')].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/** The groups of a part of an IPv6 address; an IPv4 address at its end takes the place of two. */
const groupsOf = (part: string) =>
  part === '' ? [] : part.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));

/** @param cidrs valid addresses and CIDRs of IPv4 or IPv6 */
export function networkList(cidrs: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address, bits] = cidr.split('/') as [string, string?];
    const [family, maxBits] = isIP(address) === 6 ? (['ipv6', 128] as const) : (['ipv4', 32] as const);
    list.addSubnet(address, Number(bits ?? maxBits), family);
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
}

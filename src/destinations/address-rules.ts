import { BlockList, isIP } from 'node:net';
import { networkList, plainAddress } from '../common/address.ts';

/** Networks that are not public, by the registries of special-purpose addresses (RFC 6890). */
const special = networkList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // They contain an address of IPv4, or belong to a tunnel.
  '2001::/23',
  '2002::/16',
  '2001:db8::/32',
  '2620:4f:8000::/48',
  '3fff::/20',
]);

/** The only network of IPv6 with public addresses: mapped, local, translated and multicast ones are outside of it. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Raised for an address that must not be sent to. */
export class RefusedAddress extends Error {
  readonly code = 'REFUSED_ADDRESS';
  constructor(address: string) {
    super(`${address} is not a public address. DESTINATIONS_ALLOW lists exceptions`);
    this.name = 'RefusedAddress';
  }
}

/** Tells which addresses may be sent to. */
export interface AddressRules {
  /** @throws RefusedAddress for one that is neither public nor allowed, and for what is no address */
  require: (address: string) => void;
  /** Whether it is one of the exceptions. */
  isException: (address: string) => boolean;
}

/** @param exceptions addresses and CIDRs that may be sent to although they are not public */
export function addressRules(exceptions: readonly string[]): AddressRules {
  const isListed = networkList(exceptions);
  const isException = (address: string) => isListed(plainAddress(address));
  const isPublic = (address: string) => {
    if (address.includes('%') || special(address)) return false;
    const version = isIP(address);
    return version === 4 || (version === 6 && globalUnicast.check(address, 'ipv6'));
  };
  return {
    isException,
    require: (address) => {
      if (!isPublic(plainAddress(address)) && !isException(address)) throw new RefusedAddress(address);
    },
  };
}

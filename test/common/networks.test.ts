import { networkList, networkOf } from '../../src/common/networks.ts';

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8::5', '2001:db8:0:0::/64'],
  ['2001:DB8:0:7:1:2:3:4', '2001:db8:0:7::/64'],
  ['2001:0db8:0000:0007::', '2001:db8:0:7::/64'],
  ['1:2:3::4:5:6:7', '1:2:3:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
])('limits count %s as %s', (address, expected) => {
  expect(networkOf(address)).toBe(expected);
});

it('a list of networks matches exactly the addresses inside them, IPv4 and IPv6', () => {
  const isListed = networkList(['192.0.2.0/24', '198.51.100.7', '2001:db8::/32']);
  const inside = ['192.0.2.0', '192.0.2.255', '198.51.100.7', '2001:db8::1', '2001:db8:ffff::1'];
  const outside = ['192.0.3.0', '198.51.100.8', '2001:db9::1', '::1', '', 'x'];
  expect(inside.map(isListed)).toEqual(inside.map(() => true));
  expect(outside.map(isListed)).toEqual(outside.map(() => false));
});

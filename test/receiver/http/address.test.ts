import type { IncomingMessage } from 'node:http';
import { addressOf, networkList } from '../../../src/receiver/http/access.ts';

const request = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

it.each([
  ['no proxy: the header may be forged', 0, '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['one proxy: the last hop', 1, '10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
  ['two proxies: the last but one', 2, '10.0.0.1', 'spoofed, 203.0.113.9, 10.0.0.2', '203.0.113.9'],
  ['fewer hops than proxies', 2, '192.0.2.1', '203.0.113.9', 'unknown, behind 192.0.2.1'],
  ['no header though there is a proxy', 1, '192.0.2.1', undefined, 'unknown, behind 192.0.2.1'],
  ['a hop that is not an address', 1, '192.0.2.1', 'unknown', 'unknown, behind 192.0.2.1'],
  ['an empty last hop', 1, '192.0.2.1', '198.51.100.66,', 'unknown, behind 192.0.2.1'],
  ['a port', 1, '192.0.2.1', '198.51.100.66:1234', '198.51.100.66'],
  ['brackets and a port', 1, '::1', '[2001:db8::1]:443', '2001:db8::1'],
  ['brackets', 1, '::1', '[2001:db8::1]', '2001:db8::1'],
  ['a zone', 1, '::1', `fe80::1%${'a'.repeat(99)}`, 'fe80::1'],
  ['IPv4 shown as IPv6 by a proxy', 1, '::1', '[::ffff:192.0.2.7]:80', '192.0.2.7'],
  ['IPv4 shown as IPv6', 0, '::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['IPv4 shown as IPv6 in capitals', 0, '::FFFF:192.0.2.1', undefined, '192.0.2.1'],
  ['IPv6', 1, '::1', '2001:db8::5', '2001:db8::5'],
])('finds the address of the sender: %s', (_, proxies, remote, forwarded, expected) => {
  expect(addressOf(request(remote, forwarded), proxies)).toBe(expected);
});

it('a list of networks matches exactly the addresses inside them, IPv4 and IPv6', () => {
  const isListed = networkList(['192.0.2.0/24', '198.51.100.7', '2001:db8::/32']);
  const inside = ['192.0.2.0', '192.0.2.255', '198.51.100.7', '2001:db8::1', '2001:db8:ffff::1'];
  const outside = ['192.0.3.0', '198.51.100.8', '2001:db9::1', '::1', '', 'x'];
  expect(inside.map(isListed)).toEqual(inside.map(() => true));
  expect(outside.map(isListed)).toEqual(outside.map(() => false));
});

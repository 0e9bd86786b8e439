import { createSecretKey } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { TenantNotAllowed } from '../../callbacks/rejection.ts';
import type { AccessRules, Config } from '../../common/config/config.ts';
import { isUnguessable } from '../../common/config/value-types.ts';
import type { Log } from '../../common/log.ts';
import { rateLimit } from '../../common/rate-limit.ts';
import { AddressNotAllowed, SignatureMissing, SignatureStale, SignatureWrong } from './responses.ts';
import { readSignature, verifySignature } from './signature.ts';

export interface AccessChecks {
  /**
   * Checks all but the body. A valid signature passes even if its address has used up its rejections: another sender behind
   * the same proxy may have done that.
   *
   * @returns the check of the body, which throws SignatureWrong
   * @throws TooManyRequests, AddressNotAllowed, SignatureMissing, SignatureStale, SignatureWrong
   */
  authorize: (req: IncomingMessage) => (body: Buffer) => void;
  /** Counts a guess against its address. @returns the error of the response: TooManyRequests where they are used up */
  recordRejection: (req: IncomingMessage, error: unknown) => unknown;
  warning: () => string | undefined;
  /**
   * Takes other keys and addresses. @returns what changed, in words
   * @throws Error where there were none before, or are none now: other paths are served then
   */
  update: (rules: Pick<AccessRules, 'signingKeys' | 'allowedIps'>) => string[];
}

const forwardedIgnored =
  'X-Forwarded-For is received, but TRUST_PROXY is 0: if your own proxy sends it, all senders count as one address';
const forwardedMissing =
  'X-Forwarded-For lacks the address of a sender, though TRUST_PROXY is set: such a sender is on no address list';

/** Never a key, an id or a path. */
export function configuredChecks({ authentication, paths }: Config): string[] {
  const checks: Record<string, boolean> = {
    signature: authentication.signingKeys.length > 0,
    'address list': authentication.allowedIps.length > 0,
    'client list': authentication.allowedClientIds.length > 0,
    'business list': authentication.allowedBusinessIds.length > 0,
    'unguessable paths': Object.values(paths).flat().every(isUnguessable),
  };
  return Object.keys(checks).filter((name) => checks[name]);
}

export function createAccessChecks(
  { authentication: rules, limits }: Config,
  databaseNow: () => number | undefined,
  log: Log,
): AccessChecks {
  const rejections = rateLimit({ points: limits.rejectionsPerMinute, durationS: 60 });
  const header = rules.signatureHeader.toLowerCase();
  let senders = sendersOf(rules);
  // A sender that is known by its signature or address does not guess clients or businesses.
  const hasKeys = rules.signingKeys.length > 0;
  const hasAddresses = rules.allowedIps.length > 0;
  const isSenderKnown = hasKeys || hasAddresses;
  const guesses = [SignatureMissing, SignatureStale, SignatureWrong, AddressNotAllowed];
  const isGuess = (error: unknown) =>
    guesses.some((type) => error instanceof type) || (!isSenderKnown && error instanceof TenantNotAllowed);

  // Behind a proxy that is not trusted, limits and address lists apply to the proxy instead of the sender.
  let warning: string | undefined;
  const warn = (text: string) => {
    if (!warning) log.warn(text);
    warning = text;
  };

  return {
    authorize: (req) => {
      const address = addressOf(req, rules.trustProxy);
      if (rules.trustProxy === 0 && req.headers['x-forwarded-for'] !== undefined) warn(forwardedIgnored);
      if (rules.trustProxy > 0 && !isIP(address)) warn(forwardedMissing);
      if (!isSenderKnown) rejections.check(address);
      const { keys, isAllowedAddress } = senders;
      if (hasAddresses && !isAllowedAddress(address))
        throw new AddressNotAllowed('This address is not on the list of allowed addresses.');
      if (!hasKeys) return () => {};
      const value = req.headers[header];
      const text = Array.isArray(value) ? value.join(',') : value;
      const signature = readSignature(text, rules, Date.now(), databaseNow());
      return (body) => verifySignature(signature, body, keys);
    },
    recordRejection: (req, error) => {
      if (!isGuess(error)) return error;
      try {
        rejections.consume(addressOf(req, rules.trustProxy));
        return error;
      } catch (tooManyRequests) {
        return tooManyRequests;
      }
    },
    warning: () => warning,
    update: (others) => {
      if (hasKeys !== others.signingKeys.length > 0 || hasAddresses !== others.allowedIps.length > 0)
        throw new Error('Whether there are SIGNING_KEYS or ALLOWED_IPS is decided by a start');
      const changed = [
        describeChange('SIGNING_KEYS', senders.rules.signingKeys, others.signingKeys),
        describeChange('ALLOWED_IPS', senders.rules.allowedIps, others.allowedIps),
      ];
      senders = sendersOf(others);
      return changed.filter((text) => text !== undefined);
    },
  };
}

const sendersOf = (rules: Pick<AccessRules, 'signingKeys' | 'allowedIps'>) => ({
  rules,
  isAllowedAddress: networkList(rules.allowedIps),
  keys: rules.signingKeys.map((key) => createSecretKey(key, 'utf8')),
});

/** Never a key. */
function describeChange(name: string, before: readonly string[], now: readonly string[]): string | undefined {
  const added = now.filter((value) => !before.includes(value)).length;
  const removed = before.filter((value) => !now.includes(value)).length;
  return added + removed > 0 ? `${name}: ${added} added, ${removed} removed` : undefined;
}

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

/** A socket that listens on IPv6 shows 192.0.2.1 as ::ffff:192.0.2.1. */
const plainAddress = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, '');

/**
 * The address of a request's sender. Each proxy appends the address of its peer to X-Forwarded-For; everything before the part
 * that our own proxies wrote can be forged by the sender.
 *
 * @param proxies the number of trusted proxies
 * @returns a text that is no address, and so is on no list, where the proxies do not say it
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

import dns from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { AddressRules } from './address-rules.ts';

/** Raised for an address without TLS that is no exception. */
class NotEncrypted extends Error {
  readonly code = 'NOT_ENCRYPTED';
  override readonly name = 'NotEncrypted';
}

/**
 * Connections to destinations. The addresses are checked that a name has when it is connected to, and it is those that are
 * connected to: a name that has another address a moment later leads nowhere else.
 *
 * @param connectMs how long a connection may take
 */
export function openAgent(rules: AddressRules, connectMs: number): Agent {
  const requireAll = (addresses: readonly string[], protocol: string) => {
    for (const address of addresses) {
      rules.require(address);
      if (protocol !== 'https:' && !rules.isException(address)) {
        throw new NotEncrypted('Only addresses in DESTINATIONS_ALLOW may be sent to without TLS.');
      }
    }
  };
  const connectorOf = (protocol: string) => {
    const lookup: LookupFunction = (hostname, options, callback) => {
      dns.lookup(hostname, { ...options, all: true }, (error, found) => {
        try {
          if (error) throw error;
          requireAll(
            found.map(({ address }) => address),
            protocol,
          );
          const [{ address, family }] = found as [dns.LookupAddress];
          if (options.all) callback(null, found);
          else callback(null, address, family);
        } catch (refused) {
          callback(refused as Error, '', 0);
        }
      });
    };
    return buildConnector({ lookup, timeout: connectMs });
  };
  const connectors: Record<string, buildConnector.connector> = {
    'http:': connectorOf('http:'),
    'https:': connectorOf('https:'),
  };
  return new Agent({
    connect: (options, callback) => {
      const { protocol } = options;
      const host = options.hostname.replace(/^\[|\]$/g, '');
      const check = (address: string, otherwise: () => void) => {
        try {
          requireAll([address], protocol);
        } catch (error) {
          otherwise();
          callback(error as Error, null);
          return false;
        }
        return true;
      };
      // An address is not looked up.
      if (isIP(host) !== 0 && !check(host, () => {})) return;
      connectors[protocol]!(options, (error, socket) => {
        if (!socket) callback(error as Error, null);
        else if (check(socket.remoteAddress ?? '', () => socket.destroy())) callback(null, socket);
      });
    },
    // Idle connections do not pile up, and one to a name that leads elsewhere now ends.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  });
}

import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config.ts';
import type { AnyEnvelope } from '../../families/index.ts';
import { addressOf, networkList } from './address.ts';
import { NotAllowed, SignatureMissing, SignatureStale, SignatureWrong } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';
import { verifySignature } from './signature.ts';

export interface DoorParts {
  rules: Config['authentication'];
  limits?: { requests?: RateLimit | undefined; refusals: RateLimit };
}

/** Who may come in: what is known of a request is checked as soon as it is known. */
export interface Door {
  /**
   * Before the body is read.
   *
   * @returns the address that the request comes from
   * @throws TooManyRequests, NotAllowed
   */
  admit: (req: IncomingMessage) => string;
  /**
   * Before the body is parsed.
   *
   * @throws SignatureMissing, SignatureStale, SignatureWrong
   */
  authenticate: (req: IncomingMessage, body: Buffer) => void;
  /**
   * Once it is known on whose behalf the callback comes.
   *
   * @throws NotAllowed
   */
  checkParties: (envelope: Pick<AnyEnvelope, 'client_id' | 'business_id'>) => void;
  /** Counts a request that was turned away here against its address. */
  noticeRefusal: (req: IncomingMessage, error: unknown) => void;
}

const turnedAway = [NotAllowed, SignatureMissing, SignatureStale, SignatureWrong];

export function createDoor({ rules, limits }: DoorParts): Door {
  const header = rules.signatureHeader.toLowerCase();
  const isAllowedAddress = networkList(rules.allowedIps);
  const clients = new Set(rules.allowedClientIds);
  const businesses = new Set(rules.allowedBusinessIds);
  const signature = { keys: rules.signingKeys, toleranceS: rules.signatureToleranceS };
  return {
    admit: (req) => {
      const address = addressOf(req, rules.trustProxy);
      limits?.refusals.check(address);
      limits?.requests?.check(address);
      limits?.requests?.count(address);
      if (rules.allowedIps.length > 0 && !isAllowedAddress(address)) throw new NotAllowed('address');
      return address;
    },
    authenticate: (req, body) => {
      if (signature.keys.length === 0) return;
      verifySignature([req.headers[header] ?? []].flat().join(','), body, signature, Date.now() / 1000);
    },
    checkParties: ({ client_id, business_id }) => {
      if (clients.size > 0 && !clients.has(client_id)) throw new NotAllowed('client_id');
      if (businesses.size > 0 && !businesses.has(business_id)) throw new NotAllowed('business_id');
    },
    noticeRefusal: (req, error) => {
      if (turnedAway.some((type) => error instanceof type))
        limits?.refusals.count(addressOf(req, rules.trustProxy));
    },
  };
}

import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config.ts';
import type { AnyEnvelope } from '../../families/index.ts';
import { addressOf, networkList } from './address.ts';
import { NotAllowed, SignatureMissing, SignatureStale, SignatureWrong, TooManyRequests } from './errors.ts';
import type { ForwardedWatch } from './forwarded.ts';
import type { RateLimit } from '../../rate-limit.ts';
import { readSignature, verifySignature } from './signature.ts';

export interface DoorParts {
  rules: Config['authentication'];
  limits?: { requests?: RateLimit | undefined; refusals: RateLimit };
  forwarded?: ForwardedWatch;
}

/** Who may come in: what is known of a request is checked as soon as it is known. */
export interface Door {
  /**
   * Before the body is read. A signature that may be right passes whatever its address did before: another
   * sender behind the same proxy may have done that.
   *
   * @throws TooManyRequests, NotAllowed, SignatureMissing, SignatureStale, SignatureWrong
   */
  admit: (req: IncomingMessage) => void;
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
  /**
   * Counts what may have been a guess against its address.
   *
   * @param error why the request was turned away
   * @returns the error to answer with: TooManyRequests where its address has guessed too often
   */
  recordRejection: (req: IncomingMessage, error: unknown) => unknown;
}

export function createDoor({ rules, limits, forwarded }: DoorParts): Door {
  const header = rules.signatureHeader.toLowerCase();
  const isAllowedAddress = networkList(rules.allowedIps);
  const clients = new Set(rules.allowedClientIds);
  const businesses = new Set(rules.allowedBusinessIds);
  const signature = { keys: rules.signingKeys, toleranceS: rules.signatureToleranceS };
  const signs = signature.keys.length > 0;
  // Whoever is known by a signature or an address guesses no client or business.
  const isSenderKnown = signs || rules.allowedIps.length > 0;
  const addressFor = (req: IncomingMessage) => addressOf(req, rules.trustProxy);
  const signatureOf = (req: IncomingMessage) => [req.headers[header] ?? []].flat().join(',');
  const isGuess = (error: unknown) =>
    error instanceof NotAllowed
      ? error.what === 'address' || !isSenderKnown
      : [SignatureMissing, SignatureStale, SignatureWrong].some((type) => error instanceof type);
  return {
    admit: (req) => {
      const address = addressFor(req);
      forwarded?.look(req);
      if (!isSenderKnown) limits?.refusals.check(address);
      limits?.requests?.check(address);
      limits?.requests?.count(address);
      if (rules.allowedIps.length > 0 && !isAllowedAddress(address)) throw new NotAllowed('address');
      if (signs) readSignature(signatureOf(req), signature.toleranceS, Date.now() / 1000);
    },
    authenticate: (req, body) => {
      if (signs) verifySignature(signatureOf(req), body, signature, Date.now() / 1000);
    },
    checkParties: ({ client_id, business_id }) => {
      if (clients.size > 0 && !clients.has(client_id)) throw new NotAllowed('client_id');
      if (businesses.size > 0 && !businesses.has(business_id)) throw new NotAllowed('business_id');
    },
    recordRejection: (req, error) => {
      if (!limits || !isGuess(error)) return error;
      try {
        limits.refusals.check(addressFor(req));
      } catch (tooMany) {
        if (tooMany instanceof TooManyRequests) return tooMany;
        throw tooMany;
      }
      limits.refusals.count(addressFor(req));
      return error;
    },
  };
}

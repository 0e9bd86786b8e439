import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config.ts';
import { TenantNotAllowed } from '../../intake/rejection.ts';
import { type RateLimit, TooManyRequests } from '../../rate-limit.ts';
import { addressOf, networkList } from './address.ts';
import { AddressNotAllowed, SignatureMissing, SignatureStale, SignatureWrong } from './errors.ts';
import type { ForwardedWatch } from './forwarded.ts';
import { readSignature, verifySignature } from './signature.ts';

export interface AccessDependencies {
  rules: Config['authentication'];
  limits?: { requests?: RateLimit | undefined; refusals: RateLimit };
  forwarded?: ForwardedWatch;
}

/** Whether a request comes from a rightful sender, checked as early as possible. */
export interface AccessChecks {
  /**
   * Before the body is read. A signature that may be right passes whatever its address did before: another
   * sender behind the same proxy may have done that.
   *
   * @returns the check of the body, which raises SignatureWrong
   * @throws TooManyRequests, AddressNotAllowed, SignatureMissing, SignatureStale, SignatureWrong
   */
  authorize: (req: IncomingMessage) => (body: Buffer) => void;
  /**
   * Counts what may have been a guess against its address.
   *
   * @param error why the request was rejected
   * @returns the error of the response: TooManyRequests where its address has guessed too often
   */
  recordRejection: (req: IncomingMessage, error: unknown) => unknown;
}

const noCheck = () => {};

export function createAccessChecks({ rules, limits, forwarded }: AccessDependencies): AccessChecks {
  const header = rules.signatureHeader.toLowerCase();
  const isAllowedAddress = networkList(rules.allowedIps);
  const keys = rules.signingKeys;
  const isSigned = keys.length > 0;
  // Whoever is known by a signature or an address guesses no client or business.
  const isSenderKnown = isSigned || rules.allowedIps.length > 0;
  const guesses = [
    ...[SignatureMissing, SignatureStale, SignatureWrong, AddressNotAllowed],
    ...(isSenderKnown ? [] : [TenantNotAllowed]),
  ];
  const addressFor = (req: IncomingMessage) => addressOf(req, rules.trustProxy);
  return {
    authorize: (req) => {
      const address = addressFor(req);
      forwarded?.look(req);
      if (!isSenderKnown) limits?.refusals.check(address);
      limits?.requests?.check(address);
      limits?.requests?.count(address);
      if (rules.allowedIps.length > 0 && !isAllowedAddress(address)) throw new AddressNotAllowed();
      if (!isSigned) return noCheck;
      const text = [req.headers[header] ?? []].flat().join(',');
      const signature = readSignature(text, rules.signatureToleranceS, Date.now() / 1000);
      return (body) => verifySignature(signature, body, keys);
    },
    recordRejection: (req, error) => {
      if (!limits || !guesses.some((type) => error instanceof type)) return error;
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

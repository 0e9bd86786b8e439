import { createSecretKey } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { networkList } from '../../common/address.ts';
import type { Log } from '../../common/log.ts';
import type { RateLimit } from '../../common/rate-limit.ts';
import type { Config } from '../../config/config.ts';
import { isUnguessable, shortestSecret, weaknessOf } from '../../config/unguessable.ts';
import { addressOf } from '../../receiver/http/address.ts';
import {
  AddressNotAllowed,
  SignatureMissing,
  SignatureStale,
  SignatureWrong,
} from '../../receiver/http/errors.ts';
import { readSignature, verifySignature } from '../../receiver/http/signature.ts';
import { TenantNotAllowed } from '../../receiver/intake/rejection.ts';
import type { DatabaseClock } from '../../receiver/store/clock.ts';

export interface AccessDependencies {
  config: Pick<Config, 'authentication' | 'paths'>;
  limits?: { rejections: RateLimit };
  /** PostgreSQL's clock. */
  clock: Pick<DatabaseClock, 'now'>;
  log: Log;
}

export type AccessChecks = ReturnType<typeof createAccessChecks>;

const noCheck = () => {};

const textOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(',') : value);

const forwardedIgnored =
  'X-Forwarded-For is received, but TRUST_PROXY is 0: if your own proxy sends it, all senders count as one address';

export function configuredChecks({ authentication, paths }: AccessDependencies['config']): string[] {
  const checks: Record<string, boolean> = {
    signature: authentication.signingKeys.length > 0,
    'address list': authentication.allowedIps.length > 0,
    'client list': authentication.allowedClientIds.length > 0,
    'business list': authentication.allowedBusinessIds.length > 0,
    'unguessable paths': Object.values(paths).flat().every(isUnguessable),
  };
  return Object.keys(checks).filter((name) => checks[name]);
}

/** How many keys of callbacks are short or a repetition; undefined: none. The receiver starts with them: they were accepted before. */
export function describeWeakKeys({ signingKeys }: Config['authentication']): string | undefined {
  const weak = signingKeys.filter((key) => weaknessOf(key)).length;
  if (weak === 0) return undefined;
  return (
    `${weak} of ${signingKeys.length} SIGNING_KEYS can be guessed from one signed callback: shorter than ` +
    `${shortestSecret} characters, or a repetition. Change to the output of openssl rand -hex 32`
  );
}

/** Checks as early as possible that a request comes from a legitimate sender. */
export function createAccessChecks({ config, limits, clock, log }: AccessDependencies) {
  const rules = config.authentication;
  const header = rules.signatureHeader.toLowerCase();
  const isAllowedAddress = networkList(rules.allowedIps);
  const keys = rules.signingKeys.map((key) => createSecretKey(key, 'utf8'));
  const isSigned = keys.length > 0;
  // A sender that is known by its signature or address does not guess clients or businesses.
  const isSenderKnown = isSigned || rules.allowedIps.length > 0;
  const guesses = [
    SignatureMissing,
    SignatureStale,
    SignatureWrong,
    AddressNotAllowed,
    ...(isSenderKnown ? [] : [TenantNotAllowed]),
  ];
  const addressFor = (req: IncomingMessage) => addressOf(req, rules.trustProxy);

  // Behind a proxy that is not trusted, limits and address lists apply to the proxy instead of the sender.
  let isForwardedIgnored = false;
  const checkForwarded = (req: IncomingMessage) => {
    if (isForwardedIgnored || rules.trustProxy > 0 || req.headers['x-forwarded-for'] === undefined) return;
    isForwardedIgnored = true;
    log.warn(forwardedIgnored);
  };

  return {
    /**
     * Checks everything that does not need the body. A valid signature passes even if its address has used up its
     * rejections: another sender behind the same proxy may have done that.
     *
     * @returns the check of the body, which raises SignatureWrong
     * @throws TooManyRequests, AddressNotAllowed, SignatureMissing, SignatureStale, ClockUnknown, SignatureWrong
     */
    authorize: (req: IncomingMessage): ((body: Buffer) => void) => {
      const address = addressFor(req);
      checkForwarded(req);
      if (!isSenderKnown) limits?.rejections.check(address);
      if (rules.allowedIps.length > 0 && !isAllowedAddress(address)) throw new AddressNotAllowed();
      if (!isSigned) return noCheck;
      const signature = readSignature(textOf(req.headers[header]), rules, Date.now(), clock.now());
      return (body) => verifySignature(signature, body, keys);
    },
    /**
     * Counts a rejection that may be a guess against the address of its request.
     *
     * @returns the error of the response: TooManyRequests if the address has used up its rejections
     */
    recordRejection: (req: IncomingMessage, error: unknown): unknown => {
      if (!guesses.some((type) => error instanceof type)) return error;
      try {
        limits?.rejections.consume(addressFor(req));
        return error;
      } catch (tooManyRequests) {
        return tooManyRequests;
      }
    },
    /** The checks that are configured, in words; never a key, an id or a path. */
    describe: () => {
      const text = configuredChecks(config).join(', ') || 'none: anybody can send callbacks';
      return isForwardedIgnored ? `${text}; ${forwardedIgnored}` : text;
    },
  };
}

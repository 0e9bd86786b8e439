import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { byBothClocks } from '../store/clock.ts';
import { SignatureMissing, SignatureStale, SignatureWrong } from './responses.ts';

interface Signature {
  /** Unix seconds, as written. */
  time: string;
  /** Lower-case hexadecimal digits. */
  candidates: readonly string[];
}

const noMatch = 'The signature does not match the body under any key.';

/**
 * Parses `t=<unix seconds>,v1=<hex>`; `v1` may repeat. The clocks are this process's and PostgreSQL's.
 *
 * @throws SignatureMissing; SignatureStale by both clocks; SignatureWrong if no body could match it
 */
export function readSignature(
  header: string | undefined,
  rules: { signatureHeader: string; signatureToleranceS: number },
  ownMs: number,
  databaseMs: number | undefined,
): Signature {
  if (!header)
    throw new SignatureMissing(`The callback is not signed: the header ${rules.signatureHeader} is missing.`);
  let time: string | undefined;
  const candidates: string[] = [];
  for (const spaced of header.split(',')) {
    const part = spaced.trim();
    if (/^v1=[\da-f]{64}$/i.test(part)) candidates.push(part.slice(3).toLowerCase());
    else if (/^t=\d{1,12}$/.test(part)) time ??= part.slice(2);
  }
  if (time === undefined || candidates.length === 0) throw new SignatureWrong(noMatch);
  const signedMs = Number(time) * 1000;
  const toleranceMs = rules.signatureToleranceS * 1000;
  const judge = (nowMs: number) => (Math.abs(nowMs - signedMs) > toleranceMs ? 'stale' : undefined);
  if (byBothClocks(judge, ownMs, databaseMs))
    throw new SignatureStale(
      `The signature's time is more than ${rules.signatureToleranceS} seconds away from the current time: sign each attempt anew.`,
    );
  return { time, candidates };
}

/** The HMAC-SHA256 of `<t>.<raw body>`, in lower-case hexadecimal digits. */
export const digestOf = (key: string | KeyObject, time: string, body: string | Buffer) =>
  createHmac('sha256', key).update(`${time}.`).update(body).digest('hex');

/** One `v1` must be the digest under one of the keys: either side can change its key first. @throws SignatureWrong */
export function verifySignature(
  { time, candidates }: Signature,
  body: Buffer,
  keys: readonly (string | KeyObject)[],
): void {
  let matches = false;
  for (const key of keys) {
    // As hexadecimal digits: Node returns those faster than a Buffer.
    const expected = Buffer.from(digestOf(key, time, body));
    // Every pair is compared, so that the response time does not reveal which key matched.
    for (const candidate of candidates) {
      matches = timingSafeEqual(Buffer.from(candidate), expected) || matches;
    }
  }
  if (!matches) throw new SignatureWrong(noMatch);
}

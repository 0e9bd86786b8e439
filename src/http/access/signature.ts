import { createHmac, timingSafeEqual } from 'node:crypto';
import { SignatureMissing, SignatureStale, SignatureWrong } from '../errors.ts';

export interface Signature {
  time: string;
  candidates: Buffer[];
}

/**
 * Parses `t=<unix seconds>,v1=<hex>`; `v1` may repeat. An invalid header is rejected before the body is read.
 *
 * @param header the value of the signature header
 * @param nowS the time, in unix seconds
 * @throws SignatureMissing, SignatureStale; SignatureWrong if no body could match it
 */
export function readSignature(header: string | undefined, toleranceS: number, nowS: number): Signature {
  if (!header) throw new SignatureMissing();
  const parts = header.split(',').map((part) => part.trim());
  const time = parts.find((part) => /^t=\d{1,12}$/.test(part))?.slice(2);
  const candidates = parts
    .filter((part) => /^v1=[\da-f]{64}$/i.test(part))
    .map((part) => Buffer.from(part.slice(3), 'hex'));
  if (time === undefined || candidates.length === 0) throw new SignatureWrong();
  if (Math.abs(nowS - Number(time)) > toleranceS) throw new SignatureStale(toleranceS);
  return { time, candidates };
}

/**
 * Verifies that at least one `v1` is the HMAC-SHA256 of `<t>.<raw body>` under at least one of the keys. During a
 * key rotation, either side can change its key first.
 *
 * @throws SignatureWrong
 */
export function verifySignature(
  { time, candidates }: Signature,
  body: Buffer,
  keys: readonly string[],
): void {
  let matches = false;
  for (const key of keys) {
    const expected = createHmac('sha256', key).update(`${time}.`).update(body).digest();
    // Every pair is compared, so that the response time does not reveal which key matched.
    for (const candidate of candidates) matches = timingSafeEqual(candidate, expected) || matches;
  }
  if (!matches) throw new SignatureWrong();
}

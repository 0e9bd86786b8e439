import { createHmac } from 'node:crypto';

/**
 * The value of the signature header: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>">`. The
 * interface shows no signing (section 6); this is the receiver's scheme, implemented separately so that a mistake in
 * its verifier is not mirrored.
 */
export function signatureOf(key: string, body: string | Uint8Array, seconds = Math.floor(Date.now() / 1000)) {
  const digest = createHmac('sha256', key).update(`${seconds}.`).update(body).digest('hex');
  return `t=${seconds},v1=${digest}`;
}

import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

export const newSecret = (): Buffer => randomBytes(secretBytes);

/** A secret as receivers of webhooks take it. */
export const secretText = (secret: Buffer): string => prefix + secret.toString('base64');

/**
 * The headers of a message after the Standard Webhooks specification.
 *
 * @param secrets each signs: two while one replaces the other
 */
export function signedHeaders(id: string, body: string, secrets: readonly Buffer[], now: Date) {
  const timestamp = Math.floor(now.getTime() / 1000);
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

import { createHmac, randomBytes } from 'node:crypto';

const secretBytes = 32;

export const newSecret = (): Buffer => randomBytes(secretBytes);

/** A secret as receivers of webhooks take it. */
export const secretText = (secret: Buffer): string => `whsec_${secret.toString('base64')}`;

/** The headers of a message after the Standard Webhooks specification. */
export function signedHeaders(id: string, body: string, secret: Buffer, now: Date) {
  const timestamp = Math.floor(now.getTime() / 1000);
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}

import { createHmac } from 'node:crypto';
import { isSameSecret } from '../secret.ts';

export type SignedValues = ReturnType<typeof createSignedValues>;

/**
 * Values that the browser keeps, and every receiver with the same secrets can read. A change of a secret makes all of
 * them invalid.
 */
export function createSignedValues(secrets: readonly (string | undefined)[]) {
  const key = createHmac('sha256', JSON.stringify(secrets.map((secret) => secret ?? ''))).digest();
  /** The signature of a text, different for each purpose. */
  const sign = (purpose: string, text: string) =>
    createHmac('sha256', key).update(`${purpose}:${text}`).digest('base64url');
  return {
    sign,
    write: (purpose: string, content: object, expires: number): string => {
      const text = Buffer.from(JSON.stringify({ expires, content })).toString('base64url');
      return `${text}.${sign(purpose, text)}`;
    },
    /** @returns undefined if the value is forged or expired */
    read: <Content>(purpose: string, value: string | undefined, now: number): Content | undefined => {
      const [, text, signature] = /^([\w-]+)\.([\w-]+)$/.exec(value ?? '') ?? [];
      if (!text || !isSameSecret(signature!, sign(purpose, text))) return undefined;
      const { expires, content } = JSON.parse(Buffer.from(text, 'base64url').toString());
      return now < expires ? content : undefined;
    },
  };
}

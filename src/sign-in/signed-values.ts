import { createHmac } from 'node:crypto';
import { isSameSecret } from '../common/secret.ts';
import { StoreUnavailable } from '../store/circuit.ts';

export type SignedValues = ReturnType<typeof createSignedValues>;

/**
 * Values that the browser keeps, and every receiver of the same database and with the same secrets can read. The key alone
 * protects them. The secrets are part of what is signed, so that a change of one makes all values invalid, and a copy of the
 * database is not enough to forge one.
 *
 * @param key random, of the database; undefined: not known yet
 */
export function createSignedValues(key: () => Buffer | undefined, secrets: readonly (string | undefined)[]) {
  const context = JSON.stringify(secrets.map((secret) => secret ?? ''));
  /** The signature of a text, different for each purpose. @throws StoreUnavailable before the key is known */
  const sign = (purpose: string, text: string): string => {
    const known = key();
    if (!known) throw new StoreUnavailable('PostgreSQL');
    return createHmac('sha256', known)
      .update(JSON.stringify([purpose, context, text]))
      .digest('base64url');
  };
  return {
    sign,
    /** @throws StoreUnavailable before the key is known */
    write: (purpose: string, content: object, expires: number): string => {
      const text = Buffer.from(JSON.stringify({ expires, content })).toString('base64url');
      return `${text}.${sign(purpose, text)}`;
    },
    /** @returns undefined if the value is forged or expired, or the key is not known yet */
    read: <Content>(purpose: string, value: string | undefined, now: number): Content | undefined => {
      const [, text, signature] = /^([\w-]+)\.([\w-]+)$/.exec(value ?? '') ?? [];
      if (!text || !key() || !isSameSecret(signature!, sign(purpose, text))) return undefined;
      const { expires, content } = JSON.parse(Buffer.from(text, 'base64url').toString());
      return now < expires ? content : undefined;
    },
  };
}

import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { Config } from '../common/config/config.ts';

type Secrets = Pick<Config, 'adminToken' | 'oidc'>;

const ivBytes = 16;

/** A change of a secret of sign-in ends every address, as it ends every session. */
function keysOf({ adminToken = '', oidc }: Secrets): { iv: Buffer; cipher: Buffer } {
  const secrets = JSON.stringify([adminToken, oidc?.clientSecret ?? '']);
  const derive = (use: string) => createHmac('sha256', secrets).update(`patient-handle ${use}`).digest();
  return { iv: derive('iv'), cipher: derive('cipher') };
}

// The iv is the MAC of the text (SIV): the same patient has the same address, and a changed one opens nothing.
const ivOf = (key: Buffer, text: Buffer) =>
  createHmac('sha256', key).update(text).digest().subarray(0, ivBytes);

/** The address of a patient's page, which shows no id. @param subjects `p:…`, see callbacks/subjects.ts */
export function patientHandle(config: Secrets, subjects: readonly string[]): string {
  const keys = keysOf(config);
  const text = Buffer.from(JSON.stringify(subjects.map((subject) => subject.slice(2))));
  const iv = ivOf(keys.iv, text);
  const cipher = createCipheriv('aes-256-ctr', keys.cipher, iv);
  return Buffer.concat([iv, cipher.update(text), cipher.final()]).toString('base64url');
}

/** @returns the subjects; undefined: it is no address that `patientHandle` made with these secrets */
export function subjectsOfHandle(config: Secrets, handle: string): string[] | undefined {
  const keys = keysOf(config);
  const bytes = Buffer.from(handle, 'base64url');
  // The decoder skips what is no base64url.
  if (bytes.length <= ivBytes || bytes.toString('base64url') !== handle) return undefined;
  const iv = bytes.subarray(0, ivBytes);
  const cipher = createDecipheriv('aes-256-ctr', keys.cipher, iv);
  const text = Buffer.concat([cipher.update(bytes.subarray(ivBytes)), cipher.final()]);
  if (!timingSafeEqual(ivOf(keys.iv, text), iv)) return undefined;
  return (JSON.parse(text.toString()) as string[]).map((id) => `p:${id}`);
}

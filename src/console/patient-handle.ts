import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { deriveKey, type SignInSecrets } from './sign-in/session.ts';

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

/** The address of a patient's page, which shows no id. @param subjects `p:…`, see callbacks/subjects.ts */
export function patientHandle(config: SignInSecrets, subjects: readonly string[]): string {
  const key = deriveKey(config, 'patient');
  const text = JSON.stringify(subjects.map((subject) => subject.slice(2)));
  // Made of the text: the same patient has the same address, and no two texts share an iv.
  const iv = createHmac('sha256', deriveKey(config, 'patient iv')).update(text).digest().subarray(0, ivBytes);
  const cipher = createCipheriv(algorithm, key, iv);
  const content = [cipher.update(text), cipher.final()];
  return Buffer.concat([iv, cipher.getAuthTag(), ...content]).toString('base64url');
}

/** @returns the subjects; undefined: it is no address that `patientHandle` made with these secrets */
export function subjectsOfHandle(config: SignInSecrets, handle: string): string[] | undefined {
  const bytes = Buffer.from(handle, 'base64url');
  // The decoder skips what is no base64url.
  if (bytes.toString('base64url') !== handle) return undefined;
  try {
    const [key, iv] = [deriveKey(config, 'patient'), bytes.subarray(0, ivBytes)];
    const cipher = createDecipheriv(algorithm, key, iv, { authTagLength: tagBytes });
    cipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const text = Buffer.concat([cipher.update(bytes.subarray(ivBytes + tagBytes)), cipher.final()]);
    return (JSON.parse(text.toString()) as string[]).map((id) => `p:${id}`);
  } catch {
    return undefined;
  }
}

import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares without the time taken telling how much of it was right. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

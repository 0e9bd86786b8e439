import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ResponseBodyError } from 'openid-client';
import type { Log } from '../common/log.ts';
import type { Provider } from './provider.ts';
import { faultIn } from './provider-fault.ts';
import type { Session, User } from './sessions.ts';
import type { SignedValues } from './signed-values.ts';

/** Browsers drop cookies of more than 4,096 bytes. */
const mostTokenBytes = 2_700;
/** What the browser sent before it got the next token arrives within this time. */
const rememberedMs = 60_000;

/** What the browser keeps for us, encrypted; `due`: when the provider is asked next, in milliseconds. */
type Kept = { refreshToken: string; due: number };

export type Recheck = ReturnType<typeof createRecheck>;

/**
 * Asks the provider every few minutes whether a user may still be in, by the refresh token. That is in a cookie of its
 * own, which only receivers can read, so that each of them can ask.
 */
export function createRecheck(
  { values, log }: { values: SignedValues; log: Log },
  provider: Provider,
  everyMs: number,
) {
  /** Each session has its own: the token of another does not fit. */
  const keyOf = ({ csrf }: Session) => createHash('sha256').update(values.sign('refresh', csrf)).digest();

  /** @returns undefined if the user may not be in any more, or not with this role */
  const ask = async (user: User, token: string): Promise<Kept | undefined> => {
    try {
      const { id, role, hasIdToken, refreshToken = token } = await provider.refresh(token, user.id);
      const isSame = id === user.id && (role === user.role || (role === undefined && !hasIdToken));
      return isSame ? { refreshToken, due: Date.now() + everyMs } : undefined;
    } catch (error) {
      if (error instanceof ResponseBodyError && error.status < 500) return undefined;
      const { code, message } = error as Error & { code?: string };
      const text = faultIn(error)?.message ?? message;
      log.limited('warn', { code }, 'the identity provider was not able to confirm a session', {
        error: text,
      });
      return { refreshToken: token, due: Date.now() + everyMs };
    }
  };

  // A provider may take a second use of a refresh token for theft: concurrent requests share the answer.
  const asked = new Map<string, ReturnType<typeof ask>>();

  return {
    /** Whether a cookie can hold the token; otherwise the session is like one without. */
    canKeep: (refreshToken: string | undefined): refreshToken is string =>
      refreshToken !== undefined && Buffer.byteLength(refreshToken) <= mostTokenBytes,

    /** What the browser keeps for a session that begins. */
    begin: (session: Session, refreshToken: string): string =>
      encrypt(keyOf(session), { refreshToken, due: Date.now() + everyMs } satisfies Kept),

    /**
     * Whether a session goes on.
     *
     * @param value what the browser has kept
     * @returns `next`: what it keeps from now on; `isFirst`: of a session that ends, whether this is the first to learn it
     */
    check: async (
      session: Session,
      value: string,
    ): Promise<{ goesOn: boolean; next?: string; isFirst?: boolean }> => {
      const kept = decrypt<Kept>(keyOf(session), value);
      if (kept && Date.now() < kept.due) return { goesOn: true };
      const isFirst = kept !== undefined && !asked.has(value);
      if (isFirst) {
        asked.set(value, ask(session.user, kept.refreshToken));
        setTimeout(() => asked.delete(value), rememberedMs).unref();
      }
      const next = kept && (await asked.get(value));
      return next ? { goesOn: true, next: encrypt(keyOf(session), next) } : { goesOn: false, isFirst };
    },
  };
}

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

/** A value that only who has the key can read or change. @param key 32 bytes */
function encrypt(key: Buffer, content: object): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv);
  const text = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url');
}

/** @returns undefined if the value was not encrypted with this key */
function decrypt<Content>(key: Buffer, value: string | undefined): Content | undefined {
  const bytes = Buffer.from(value ?? '', 'base64url');
  if (bytes.length <= ivBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

import type { CookieOptions, Request, Response } from 'express';
import type { ConsoleDependencies } from '../dependencies.ts';
import type { LogAccess } from '../log-access.ts';
import { isSecure } from '../origin.ts';
import type { Session, Sessions } from '../session.ts';
import type { SignedValues } from '../signed-values.ts';
import type { ConsoleStore } from '../store.ts';
import type { Frame } from '../ui/context.ts';
import type { Provider } from './provider.ts';

/** Asks the identity provider again whether the user of a session may still be in. */
export interface Recheck {
  /** Whether a cookie can hold the token; otherwise the session is like one without. */
  canKeep: (refreshToken: string | undefined) => refreshToken is string;
  begin: (req: Request, res: Response, session: Session, refreshToken: string) => void;
  /** Whether a session goes on. @throws LogUnavailable */
  passes: (req: Request, res: Response, session: Session) => Promise<boolean>;
  end: (req: Request, res: Response) => void;
}

export interface SignInDependencies extends ConsoleDependencies, Pick<ConsoleStore, 'db'> {
  values: SignedValues;
  sessions: Sessions;
  provider: Provider | undefined;
  recheck: Recheck | undefined;
  frame: Frame;
  logAccess: LogAccess;
}

/** The cookie of a session: other sites cannot send it, and scripts cannot read it. */
export const sessionOptions = (req: Request): CookieOptions => ({
  path: '/console',
  httpOnly: true,
  sameSite: 'strict',
  secure: isSecure(req),
});

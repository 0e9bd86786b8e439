import type { CookieOptions, Request } from 'express';
import type { ConsoleDependencies } from '../dependencies.ts';
import { isSecure } from '../origin.ts';
import type { RecordAccess } from '../record-access.ts';
import type { Sessions } from '../session.ts';
import type { SignedValues } from '../signed-values.ts';
import type { Provider } from './provider.ts';

export interface SignInDependencies
  extends Pick<ConsoleDependencies, 'adminToken' | 'attempts' | 'timezone' | 'log'> {
  values: SignedValues;
  sessions: Sessions;
  provider: Provider | undefined;
  record: RecordAccess;
}

/** The cookie of a session: other sites cannot send it, and scripts cannot read it. */
export const sessionOptions = (req: Request): CookieOptions => ({
  path: '/console',
  httpOnly: true,
  sameSite: 'strict',
  secure: isSecure(req),
});

import type { Request, RequestHandler, Response } from 'express';
import { TooManyRequests } from '../rate-limit.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { cookieName, readCookie, type Sessions, sessionS } from './session.ts';
import type { Visit } from './ui/context.ts';
import { Field, Submit } from './ui/forms.tsx';
import { sendBarePage } from './ui/page.tsx';

export interface SignInDependencies extends Pick<ConsoleDependencies, 'verifyToken' | 'timezone' | 'log'> {
  sessions: Sessions;
}

const cookie = (req: Request) =>
  ({ path: '/console', httpOnly: true, sameSite: 'strict', secure: req.secure }) as const;

/** Passes requests with a session; all others get the sign-in form and nothing else. */
export function requireSession({ sessions, timezone }: SignInDependencies): RequestHandler {
  return (req, res, next) => {
    const session = sessions.read(readCookie(req.headers.cookie));
    if (!session) return sendForm(req, res, 401);
    res.locals.visit = { timezone, csrf: session.csrf } satisfies Visit;
    next();
  };
}

/** Begins a session if the token is right. */
export function signIn({ verifyToken, sessions, log }: SignInDependencies): RequestHandler {
  return (req, res) => {
    const { token, next } = (req.body ?? {}) as Record<string, unknown>;
    try {
      if (!verifyToken(req, typeof token === 'string' ? token.trim() : '')) {
        log.warn('a sign-in to the console failed');
        return sendForm(req, res, 401, 'Wrong token.');
      }
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      res.setHeader('Retry-After', String(error.retryAfterS));
      return sendForm(req, res, 429, `Too many wrong tokens. Try again in ${error.retryAfterS} seconds.`);
    }
    res.cookie(cookieName, sessions.begin(), { ...cookie(req), maxAge: sessionS * 1000 });
    log.info('a user signed in to the console');
    res.redirect(303, ownPath(next));
  };
}

export const signOut: RequestHandler = (req, res) => {
  res.clearCookie(cookieName, cookie(req));
  res.redirect(303, '/console');
};

function sendForm(req: Request, res: Response, status: number, fault?: string): void {
  const next = req.method === 'GET' ? req.originalUrl : ownPath(req.body?.next);
  sendBarePage(
    res,
    status,
    'Sign in',
    <form method="post" action="/console/sign-in" class="card">
      <input type="hidden" name="next" value={ownPath(next)} />
      <Field
        label="Admin token"
        name="token"
        type="password"
        autocomplete="current-password"
        required
        fault={fault}
      />
      <Submit>Sign in</Submit>
      <p class="hint">
        The value of <code>ADMIN_TOKEN</code>. If it is not set, the embedded database has a generated token:
        see the file <code>admin-token</code> in <code>DATA_DIR</code>.
      </p>
    </form>,
  );
}

/** The path of a page of the console; for anything else, its first page. */
function ownPath(next: unknown): string {
  const own = 'http://own.invalid';
  if (typeof next !== 'string' || !URL.canParse(next, own)) return '/console';
  const { origin, pathname, search } = new URL(next, own);
  const isOwn = origin === own && /^\/console(\/|$)/.test(pathname);
  const isPage = !/^\/console\/(sign-in|sign-out|assets)/.test(pathname);
  return isOwn && isPage ? pathname + search : '/console';
}

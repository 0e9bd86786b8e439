import type { Express } from 'express';
import { sql } from 'kysely';
import { roles } from '../../common/config/value-types.ts';
import { rateLimit, TooManyRequests } from '../../common/rate-limit.ts';
import { isSameSecret } from '../../common/secrets.ts';
import type { Core } from '../../receiver/feature.ts';
import { addressOf } from '../../receiver/http/access.ts';
import { logAccess } from '../../receiver/store/log-access.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { readAliases } from '../../reconcile/aliases.ts';
import type { Routes } from '../page.ts';
import { patientHandle } from '../patient-handle.ts';
import { hrefTo, visitOf } from '../ui/context.ts';
import { Field } from '../ui/forms.tsx';
import { sendBarePage } from '../ui/send-page.tsx';
import { ownPath } from './origin.ts';
import { createProvider } from './provider.ts';
import * as sessions from './session.ts';
import { addProviderSignIn, type SendSignIn } from './with-provider.tsx';

/**
 * Adds sign-in with ADMIN_TOKEN and by OpenID Connect, and sign-out. Of what is added later, requests without a session get the
 * sign-in page and nothing else.
 */
export function addSignIn(core: Core, app: Express, routes: Routes): void {
  const { config } = core;
  const { adminToken } = config;
  const provider = config.oidc && createProvider(config.oidc);
  const entrance = sessions.createEntrance(core);
  const sendSignIn: SendSignIn = (req, res, status, fault) => {
    const next = ownPath(req.method === 'GET' ? req.originalUrl : req.body?.next);
    const ways = (
      <>
        {provider && (
          // A link, since the policy for forms forbids redirects to another site.
          <p class="actions">
            <a class="button main" href={hrefTo('/sign-in/start', { next })}>
              Sign in with your account
            </a>
          </p>
        )}
        {fault && (
          <p class="warning" role="alert">
            {fault}
          </p>
        )}
        {adminToken !== undefined && <TokenForm next={next} />}
      </>
    );
    sendBarePage(res, status, 'Sign in', ways);
  };

  if (provider) addProviderSignIn(core, routes, provider, entrance, sendSignIn);
  const wrongTokens = rateLimit({ points: 10, durationS: 300 });
  routes.post('/sign-in', 'anyone', async (req, res) => {
    const { token, next } = (req.body ?? {}) as Record<string, unknown>;
    const address = addressOf(req, config.authentication.trustProxy);
    try {
      // Otherwise a guess beyond the limit would be tried, whatever the response.
      wrongTokens.check(address);
      if (adminToken && typeof token === 'string' && isSameSecret(token.trim(), adminToken)) {
        await entrance.enter(req, res, { id: 'admin-token', roles }, 'admin token');
        return res.redirect(303, ownPath(next));
      }
      wrongTokens.consume(address);
      await entrance.recordFailure(req, 'admin token', 'wrong token');
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      res.setHeader('Retry-After', String(error.retryAfterS));
      return sendSignIn(req, res, 429, `Too many wrong tokens. Try again in ${error.retryAfterS} seconds.`);
    }
    sendSignIn(req, res, 401, 'That token is not right.');
  });

  app.use(async (req, res, next) => {
    const cookie = sessions.readCookie(req, sessions.sessionCookie);
    const session = cookie ? sessions.hashOf(cookie, config) : undefined;
    const user = session && (await sessions.readSession(core, session));
    if (!user) return sendSignIn(req, res, 401);
    const { id, name, roles } = user;
    const actor = { id, name, address: addressOf(req, config.authentication.trustProxy) };
    const patientHref = (subjects: readonly string[]) =>
      hrefTo(`/patients/${patientHandle(config, subjects)}`);
    const frame = await readFrame(core.db);
    res.locals.visit = { actor, roles, session, timezone: config.reportTimezone, patientHref, ...frame };
    next();
  });

  routes.post('/sign-out', 'viewer', async (req, res) => {
    const { actor, session } = visitOf(res);
    res.clearCookie(sessions.sessionCookie, sessions.cookieOptions(req, config));
    // Back must not show what was there.
    res.setHeader('Clear-Site-Data', '"cache"');
    await sessions.endSessions(core.db, 'hash', session);
    await logAccess(core, { actor, action: 'sign-out' });
    res.redirect(303, '/console');
  });
}

const maxProblems = 1_000;

/** Every page shows them: the names of ids, and the number of problems. */
async function readFrame(db: Db) {
  const { rows } = await sql<{ problems: number }>`
    select count(*)::int as problems from (
      (select from receiver.pending_deliveries where next_at = 'infinity' limit ${maxProblems})
      union all (select from receiver.quarantine where replayed_at is null limit ${maxProblems})
    ) as problems`.execute(db);
  return { aliases: await readAliases(db), problems: rows[0]!.problems };
}

function TokenForm({ next }: { next: string }) {
  return (
    <form method="post" action="/console/sign-in">
      <input type="hidden" name="next" value={next} />
      <Field label="Admin token" name="token" type="password" autocomplete="current-password" required />
      <button type="submit" class="main">
        Sign in
      </button>
      <p class="note">
        The value of <code>ADMIN_TOKEN</code>; where that is not set, it is in the file{' '}
        <code>admin-token</code> of <code>DATA_DIR</code>.
      </p>
    </form>
  );
}

import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { sql } from 'kysely';
import type { RunningCore } from '../receiver/feature.ts';
import { logAccess } from '../receiver/store/log-access.ts';
import type { Db } from '../receiver/store/tables.ts';
import { type Aliases, aliasKinds } from '../reconcile/aliases.ts';
import { serveAsset } from './assets.ts';
import { type Console, isAllowed, NotAllowed, PageNotFound, type Routes } from './page.ts';
import { navigation, pages } from './pages/index.ts';
import { formBody } from './read-form.ts';
import { countUpTo } from './reports/read.ts';
import { sendError } from './send-error.tsx';
import { publicUrlSetting } from './sign-in/origin.ts';
import { createRights } from './sign-in/rights.ts';
import { requireSameOrigin } from './sign-in/same-origin.ts';
import type { SignedIn } from './sign-in/session-table.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { actorOf, type Problems, type Visit } from './ui/context.ts';

const none = ["'none'"];
const self = ["'self'"];

const setHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      connectSrc: self,
      formAction: self,
      frameAncestors: none,
      baseUri: none,
    },
  },
  // HSTS is left to the proxy in front: it concerns the whole host.
  strictTransportSecurity: false,
  // Other sites get nothing; our own forms need the origin.
  referrerPolicy: { policy: 'same-origin' },
});

/** For every page: own files only, no inline scripts or styles, no caching. */
const pageHeaders: RequestHandler = (req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  setHeaders(req, res, next);
};

const statementMs = 5_000;

/** The pages for people, at any path. */
export function openConsole(core: RunningCore): Express {
  const { config, db, log } = core;
  const { reportTimezone: timezone } = config;
  const pageDependencies: Console = {
    ...core,
    read: (use) =>
      db
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(async (tx) => {
          await sql`select set_config('statement_timeout', ${String(statementMs)}, true), set_config('TimeZone', ${timezone}, true)`.execute(
            tx,
          );
          return use(tx);
        }),
    logAccess: (res, access) => logAccess(core, { actor: actorOf(res), ...access }),
  };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', config.authentication.trustProxy);
  app.set(publicUrlSetting, config.publicUrl);
  const rights = createRights();
  const add =
    (method: 'get' | 'post'): Routes['get'] =>
    (path, takes, handler) => {
      rights.add(method.toUpperCase(), path, takes);
      const guard: RequestHandler = (_req, res, next) => {
        const roles = (res.locals.visit as Visit | undefined)?.roles ?? [];
        if (!isAllowed(roles, takes))
          throw new NotAllowed(`This takes the role ${takes}. Your roles: ${roles.join(', ') || 'none'}.`);
        next();
      };
      app[method](path, method === 'post' ? [guard, formBody(path, config)] : guard, handler);
    };
  const routes: Routes = { get: add('get'), post: add('post') };
  const visitOf = ({ roles }: SignedIn) => ({
    navigation,
    may: (method: 'GET' | 'POST', address: string) => {
      const takes = rights.takenBy(method, address);
      return takes !== undefined && isAllowed(roles, takes);
    },
    timezone,
    roles,
  });

  const signIn = createSignIn(core);
  app.use(pageHeaders, requireSameOrigin(log));
  for (const name of ['console.css', 'icon.svg', 'console.js'] as const)
    routes.get(`/assets/${name}`, 'anyone', serveAsset(name));
  signIn.addSignIn(routes);
  app.use(signIn.requireSession(visitOf));
  signIn.addSignOut(routes);
  app.use(async (_req, res, next) => {
    Object.assign(res.locals.visit, await readFrame(db));
    next();
  });
  routes.get('/', 'viewer', (_req, res) => res.redirect(303, '/console/today'));
  for (const page of pages) page(routes, pageDependencies);
  app.use(() => {
    throw new PageNotFound('There is no such page.');
  });
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    if (sendError(res, error) !== 500) return;
    log.limited('error', { reason: error?.name, code: error?.code }, 'a console page failed', { err: error });
  };
  app.use(onError);
  return app;
}

/** What every page shows: names of ids, and how many callbacks need somebody. */
async function readFrame(db: Db): Promise<{ aliases: Aliases; problems: Problems }> {
  const found = await db
    .selectFrom('receiver.aliases')
    .select(['kind', 'id', 'alias'])
    .where('alias', 'is not', null)
    .orderBy('alias')
    .execute();
  const { rows } = await sql<Problems>`
    select ${countUpTo(sql`select from receiver.pending_deliveries where next_at = 'infinity'`)} as failed,
           ${countUpTo(sql`select from receiver.quarantine where replayed_at is null`)} as quarantine`.execute(
    db,
  );
  const aliasesOf = (wanted: string) =>
    new Map(found.flatMap(({ kind, id, alias }) => (kind === wanted ? [[id, alias!] as const] : [])));
  const aliases = Object.fromEntries(aliasKinds.map((kind) => [kind, aliasesOf(kind)]));
  return { aliases: aliases as unknown as Aliases, problems: rows[0]! };
}

import { join } from 'node:path';
import express, { type ErrorRequestHandler, type Express } from 'express';
import helmet from 'helmet';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { RunningCore } from '../receiver/feature.ts';
import { logAccess } from '../receiver/store/log-access.ts';
import type { Tables } from '../receiver/store/tables.ts';
import { createRoutes, type Page, type PageContext, PageNotFound } from './page.ts';
import { callbacks } from './pages/callbacks.tsx';
import { health } from './pages/health.tsx';
import { hours } from './pages/hours.tsx';
import { listPages } from './pages/lists.tsx';
import { messages } from './pages/messages.tsx';
import { names } from './pages/names.tsx';
import { patients } from './pages/patients.tsx';
import { records } from './pages/records.tsx';
import { search } from './pages/search.tsx';
import { today } from './pages/today.tsx';
import { sendError } from './send-error.tsx';
import { requireSameOrigin } from './sign-in/origin.ts';
import { addSignIn } from './sign-in/sign-in.tsx';
import { visitOf } from './ui/context.ts';

export const pages: readonly Page[] = [
  today,
  listPages,
  hours,
  patients,
  search,
  records,
  callbacks,
  messages,
  health,
  names,
];

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

const assets = join(import.meta.dirname, '../../assets/console');
const statementMs = 5_000;

export function openConsole(core: RunningCore): Express {
  const { config, log } = core;
  const reports = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: core.reports }) });
  const context: PageContext = {
    ...core,
    read: (use) =>
      reports
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(async (tx) => {
          // What a page looks up is recent, and in memory: no reason to read a whole table instead.
          const setting = sql`
            select set_config('statement_timeout', ${String(statementMs)}, true), set_config('TimeZone', ${config.reportTimezone}, true),
              set_config('random_page_cost', '1.1', true)`;
          await setting.execute(tx);
          return use(tx);
        }),
    logAccess: (res, access) => logAccess(core, { actor: visitOf(res).actor, ...access }),
  };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', config.authentication.trustProxy);
  app.use(setHeaders);
  app.use('/assets', express.static(assets, { index: false, redirect: false }));
  app.use((_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  });
  app.use(requireSameOrigin(core));
  const routes = createRoutes(app);
  addSignIn(core, app, routes);
  routes.get('/', 'viewer', (_req, res) => res.redirect(303, '/console/today'));
  for (const page of pages) page(routes, context);
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

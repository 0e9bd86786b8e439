import type { Response } from 'express';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Role } from '../../common/config/value-types.ts';
import { isAllowed } from '../roles.ts';
import { hrefTo, useVisit, VisitContext, visitOf } from './context.ts';
import { PostButton } from './forms.tsx';
import { formatCount, Moment } from './values.tsx';

/** @param query what is searched for @param bar beside the title: filters, states, actions */
export function sendPage(
  res: Response,
  title: string,
  children: ComponentChildren,
  { status = 200, query, bar }: { status?: number; query?: string; bar?: ComponentChildren } = {},
): void {
  const visit = visitOf(res);
  const page = (
    <VisitContext.Provider value={visit}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header query={query} />
      <Navigation path={res.req.path} />
      <main id="main" tabindex={-1}>
        <div class="bar">
          <h1>{title}</h1>
          {bar}
        </div>
        {children}
        <footer>
          As of <Moment at={new Date()} exact />. Times are in {visit.timezone}.
        </footer>
      </main>
    </VisitContext.Provider>
  );
  const script = <script src="/console/assets/console.js" defer />;
  sendDocument(res, status, title, page, script);
}

/** Sends a page to a user who has not signed in; it reveals nothing of the console. */
export function sendBarePage(res: Response, status: number, title: string, body: VNode, head?: VNode): void {
  const page = (
    <main class="narrow">
      <h1>{title}</h1>
      {body}
    </main>
  );
  sendDocument(res, status, title, page, head);
}

function sendDocument(res: Response, status: number, title: string, body: VNode, head?: VNode): void {
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${title} · Webhook receiver`}</title>
        <link rel="icon" href="/console/assets/icon.svg" />
        <link rel="stylesheet" href="/console/assets/console.css" />
        {head}
      </head>
      <body>{body}</body>
    </html>
  );
  res.status(status).type('html');
  res.send(`<!doctype html>${renderToString(document)}`);
}

function Header({ query }: { query: string | undefined }) {
  const { actor, roles, aliases } = useVisit();
  const names = [...aliases.business.values()];
  return (
    <header>
      <img src="/console/assets/icon.svg" alt="" width="22" height="22" />
      <a class="brand" href="/console">
        {names.length === 1 ? names[0] : 'Webhook receiver'}
      </a>
      <search>
        <form action="/console/search" method="get">
          <input
            id="search"
            name="q"
            type="search"
            aria-label="Search"
            value={query}
            placeholder="Name, last digits of a phone, receipt number"
            autocomplete="off"
            aria-keyshortcuts="/"
          />
        </form>
      </search>
      <details class="user" name="chips">
        <summary>
          {actor.name ?? actor.id}{' '}
          <span class="soft">{roles.length > 2 ? 'all roles' : roles.join(', ')}</span>
        </summary>
        <div class="popup">
          <PostButton action="/console/sign-out" least="viewer" text="Sign out" />
        </div>
      </details>
    </header>
  );
}

/** `path`: below /console, with the pages below it; `also`: of other pages that belong to it; `role`: default viewer. */
type Entry = readonly [title: string, path: string, also?: readonly string[], role?: Role];

const navigation: Readonly<Record<string, readonly Entry[]>> = {
  Clinic: [
    ['Today', '/today'],
    ['Appointments', '/appointments', ['/booked', '/hours', '/records/appointment']],
    ['Patients', '/search', ['/patients'], 'desk'],
    ['Receipts', '/receipts', ['/unpaid', '/deleted', '/failed', '/twice', '/records/receipt']],
    ['Takings', '/takings', ['/payments', '/takings-by-month', '/takings-by-doctor', '/takings-by-clinic']],
  ],
  'More lists': [
    ['Admissions', '/admissions', ['/records/admission']],
    ['Papers', '/papers', ['/records/consent_form', '/records/prescription', '/records/review_request']],
    ['Payment links', '/payment-links', ['/records/payment_request']],
  ],
  System: [
    ['Callbacks', '/callbacks', ['/rejected']],
    ['Health', '/health', ['/names']],
    ['Access log', '/access-log', ['/erasures'], 'privacy'],
  ],
};

const belongsTo = ([, own, also = []]: Entry, path: string): boolean =>
  [own, ...also].some((at) => path === at || path.startsWith(`${at}/`));

function Navigation({ path }: { path: string }) {
  const { roles, problems } = useVisit();
  const count = problems ? <span class="badge bad">{formatCount(problems)}</span> : null;
  return (
    <nav class="sections" aria-label="Sections">
      {Object.entries(navigation).map(([title, entries]) => (
        <ul key={title} aria-label={title}>
          {entries
            .filter(([, , , role = 'viewer']) => isAllowed(roles, role))
            .map((entry) => {
              const [title, own] = entry;
              return (
                <li key={own}>
                  <a href={hrefTo(own)} aria-current={belongsTo(entry, path) ? 'page' : undefined}>
                    {title} {own === '/callbacks' && count}
                  </a>
                </li>
              );
            })}
        </ul>
      ))}
    </nav>
  );
}

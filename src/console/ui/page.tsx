import type { Response } from 'express';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetUrl } from '../assets.ts';
import { countLimit } from '../frame.ts';
import { type Entry, type Problems, type Visit, VisitContext } from './context.ts';
import { PostForm, Submit } from './forms.tsx';
import { hrefTo } from './links.ts';
import { formatCount } from './values.tsx';

interface PageOptions {
  charts?: boolean;
  status?: number;
  /** What was searched for. */
  query?: string;
}

/** Sends a page to a signed-in user; of a page that was begun, the rest: a status has no effect then. */
export function sendPage(
  res: Response,
  title: string,
  children: ComponentChildren,
  options: PageOptions = {},
): void {
  const { rest, ...locals } = res.locals as PageLocals;
  if (rest === undefined) {
    sendHtml(res, options.status ?? 200, <Page {...{ ...locals, ...options, title, children }} />);
  } else {
    const content = <VisitContext.Provider value={locals.visit}>{children}</VisitContext.Provider>;
    res.end(renderToString(content) + rest);
  }
}

/** Sends a page up to its title, before its content is read: the browser shows it meanwhile. */
export function beginPage(res: Response, title: string, options: PageOptions): void {
  const locals = res.locals as PageLocals;
  const gap = '<!---->';
  const children = <span dangerouslySetInnerHTML={{ __html: gap }} />;
  const page = renderToString(<Page {...{ ...locals, ...options, title, children }} />);
  const [begin, rest] = page.split(`<span>${gap}</span>`);
  locals.rest = rest;
  res.type('html').write(`<!doctype html>${begin}`);
}

interface PageLocals {
  visit: Visit;
  /** The path of its entry in the navigation. */
  place?: string | undefined;
  /** Whether it is the page of that entry, or else has a link back to it. */
  isFirst?: boolean;
  /** What follows the content of a page that was begun. */
  rest?: string | undefined;
}

/** Whether only the content of a page is missing. */
export const isBegun = (res: Response): boolean => (res.locals as PageLocals).rest !== undefined;

interface PageProps extends Omit<PageLocals, 'rest'>, PageOptions {
  title: string;
  children: ComponentChildren;
}

function Page({ visit, place, isFirst, title, charts = false, query, children }: PageProps) {
  const { navigation, may, role } = visit;
  const section = navigation.find(({ path }) => path === place);
  return (
    <VisitContext.Provider value={visit}>
      <Document {...{ title, charts }} inside>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="bar">
          <a class="brand" href="/console">
            Webhook receiver
          </a>
          <search>
            <form action="/console/search" method="get">
              <label class="unseen" for="search">
                Search
              </label>
              <input
                id="search"
                name="q"
                type="search"
                value={query}
                placeholder="Search: receipt, id, phone, name"
                autocomplete="off"
                aria-keyshortcuts="/"
              />
            </form>
          </search>
          <nav aria-label="Sections">
            {navigation
              .filter(({ path }) => may(role, 'GET', path))
              .map((entry) => (
                <a
                  key={entry.path}
                  href={pageOf(entry)}
                  {...(entry === section ? { 'aria-current': 'page' as const } : {})}
                >
                  {entry.title}
                  {entry.counted && visit.problems && <ProblemCount {...visit.problems} />}
                </a>
              ))}
          </nav>
          <p class="user">
            {visit.actor.name ?? visit.actor.id} <span>{role}</span>
          </p>
          <PostForm action="/console/sign-out" class="sign-out">
            <Submit kind="quiet">Sign out</Submit>
          </PostForm>
        </header>
        <main id="main" tabindex={-1}>
          {section && !isFirst && (
            <p class="trail">
              <a href={pageOf(section)}>← {section.title}</a>
            </p>
          )}
          <h1>{title}</h1>
          {children}
        </main>
        <footer>
          <p>Times are in {visit.timezone}.</p>
        </footer>
      </Document>
    </VisitContext.Provider>
  );
}

const pageOf = ({ path }: Entry) => hrefTo(path === '/' ? '' : path);

function ProblemCount({ failed, quarantine }: Problems) {
  const count = failed + quarantine;
  if (count === 0) return null;
  const text = count > countLimit ? `${formatCount(countLimit)}+` : formatCount(count);
  return <span class="count"> {text}</span>;
}

/** Sends a page to a user who has not signed in; it reveals nothing of the console. */
export function sendBarePage(
  res: Response,
  status: number,
  title: string,
  children?: ComponentChildren,
  head?: VNode,
) {
  sendHtml(
    res,
    status,
    <Document title={title} head={head}>
      <main class="narrow">
        <h1>{title}</h1>
        {children}
      </main>
    </Document>,
  );
}

function sendHtml(res: Response, status: number, document: Parameters<typeof renderToString>[0]): void {
  res
    .status(status)
    .type('html')
    .send(`<!doctype html>${renderToString(document)}`);
}

interface DocumentProps extends Pick<PageProps, 'title' | 'charts' | 'children'> {
  inside?: boolean;
  head?: VNode | undefined;
}

function Document(props: DocumentProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${props.title} · Webhook receiver`}</title>
        {props.inside && <link rel="icon" href={assetUrl('icon.svg')} />}
        <link rel="stylesheet" href={assetUrl('console.css')} />
        {props.inside && <script src={assetUrl('console.js')} defer />}
        {props.charts && <script src={assetUrl('chart-library.js')} defer />}
        {props.charts && <script src={assetUrl('charts.js')} defer />}
        {props.head}
      </head>
      <body>{props.children}</body>
    </html>
  );
}

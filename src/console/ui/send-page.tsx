import type { Response } from 'express';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetUrl } from '../assets.ts';
import { countLimit } from '../reports/read.ts';
import { type Entry, type Group, hrefTo, useMayOpen, useVisit, VisitContext, visitOf } from './context.ts';
import { PostForm, Submit } from './forms.tsx';
import { formatCount, Moment } from './values.tsx';

export function sendPage(
  res: Response,
  title: string,
  children: ComponentChildren,
  { status = 200, query }: { status?: number; query?: string } = {},
): void {
  const visit = visitOf(res);
  const { path } = res.req;
  const entry = findEntry(visit.navigation, path);
  const page = (
    <VisitContext.Provider value={visit}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header current={entry} query={query} />
      <main id="main" tabindex={-1}>
        {entry && path !== entry.path && (
          <p class="trail">
            <a href={hrefTo(entry.path)}>← {entry.title}</a>
          </p>
        )}
        <h1>{title}</h1>
        <p class="printed">
          <AsOf />
        </p>
        {children}
      </main>
      <footer>
        <p>
          <AsOf />
        </p>
      </footer>
    </VisitContext.Provider>
  );
  const script = <script src={assetUrl('console.js')} defer />;
  sendDocument(res, status, title, page, script);
}

function AsOf() {
  const { timezone } = useVisit();
  return (
    <>
      As of <Moment at={new Date()} />. Times are in {timezone}.
    </>
  );
}

/** Sends a page to a user who has not signed in; it reveals nothing of the console. */
export function sendBarePage(
  res: Response,
  status: number,
  title: string,
  children: ComponentChildren,
  head?: VNode,
): void {
  const page = (
    <main class="narrow">
      <h1>{title}</h1>
      {children}
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
        <link rel="icon" href={assetUrl('icon.svg')} />
        <link rel="stylesheet" href={assetUrl('console.css')} />
        {head}
      </head>
      <body>{body}</body>
    </html>
  );
  res
    .status(status)
    .type('html')
    .send(`<!doctype html>${renderToString(document)}`);
}

/** The entry that a page belongs to: the one with the longest path that the page is at or below. */
function findEntry(groups: readonly Group[], path: string): Entry | undefined {
  const places = groups.flatMap(({ entries }) =>
    entries.flatMap((entry) => [entry.path, ...(entry.also ?? [])].map((at) => ({ entry, at }))),
  );
  return places
    .filter(({ at }) => path === at || path.startsWith(`${at}/`))
    .toSorted((one, other) => other.at.length - one.at.length)[0]?.entry;
}

function Header({ current, query }: { current: Entry | undefined; query: string | undefined }) {
  const { navigation, actor, roles, problems } = useVisit();
  const mayOpen = useMayOpen();
  return (
    <header class="bar">
      <a class="brand" href="/console" aria-label="Webhook receiver">
        <img src={assetUrl('icon.svg')} alt="" width="24" height="24" /> <span>Webhook receiver</span>
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
          <button type="submit" class="unseen" tabindex={-1}>
            Search
          </button>
        </form>
      </search>
      <details class="menu">
        <summary>Menu</summary>
      </details>
      <details class="user">
        <summary>
          {actor.name ?? actor.id} <span>{roles.join(', ')}</span>
        </summary>
        <div class="popup">
          {mayOpen('/sessions') && <a href="/console/sessions">Sessions</a>}
          <PostForm action="/console/sign-out">
            <Submit kind="quiet">Sign out</Submit>
          </PostForm>
        </div>
      </details>
      <nav aria-label="Sections">
        {navigation.map(({ title, entries }) => (
          <ul key={title} aria-label={title}>
            {entries
              .filter(({ path }) => mayOpen(path))
              .map((entry) => (
                <li key={entry.path}>
                  <a href={hrefTo(entry.path)} aria-current={entry === current ? 'page' : undefined}>
                    {entry.title}
                    {entry.counted && problems && <ProblemCount count={problems[entry.counted]} />}
                  </a>
                </li>
              ))}
          </ul>
        ))}
      </nav>
    </header>
  );
}

function ProblemCount({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span class="count"> {count > countLimit ? `${formatCount(countLimit)}+` : formatCount(count)}</span>
  );
}

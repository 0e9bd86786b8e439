import type { Response } from 'express';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetUrl } from '../assets.ts';
import { hrefTo, type Visit, VisitContext } from './context.ts';
import { findEntry, Header } from './header.tsx';
import { Moment } from './values.tsx';

interface PageOptions {
  status?: number;
  /** What was searched for. */
  query?: string;
}

/** Sends a page to a signed-in user. */
export function sendPage(
  res: Response,
  title: string,
  children: ComponentChildren,
  { status = 200, ...options }: PageOptions = {},
): void {
  const { visit } = res.locals as { visit: Visit };
  sendHtml(res, status, <Page {...{ visit, ...options, path: res.req.path, title, children }} />);
}

interface PageProps extends PageOptions {
  visit: Visit;
  /** Below /console. */
  path: string;
  title: string;
  children: ComponentChildren;
}

function Page({ visit, path, title, query, children }: PageProps) {
  const entry = findEntry(visit.navigation, path);
  return (
    <VisitContext.Provider value={visit}>
      <Document title={title} inside>
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
          {children}
        </main>
        <footer>
          <p>
            As of <Moment at={new Date()} />. Times are in {visit.timezone}.
          </p>
        </footer>
      </Document>
    </VisitContext.Provider>
  );
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

interface DocumentProps extends Pick<PageProps, 'title' | 'children'> {
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
        <link rel="icon" href={assetUrl('icon.svg')} />
        <link rel="stylesheet" href={assetUrl('console.css')} />
        {props.inside && <script src={assetUrl('console.js')} defer />}
        {props.head}
      </head>
      <body>{props.children}</body>
    </html>
  );
}

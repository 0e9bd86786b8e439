import type { RequestHandler } from 'express';

/** Addresses of earlier versions, below /console: they may be bookmarked. */
const pages: readonly (readonly [from: RegExp, to: string])[] = [
  [/^\/things\//, '/records/'],
  [/^\/queue(\/\w+)?$/, '/health'],
  [/^\/failed$/, '/problems'],
  [/^(\/reports\/\w+)\/spreadsheet$/, '$1/xlsx'],
];

/** Filters that had another name, by the page. */
const filters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/deliveries': { from: 'since', receivedFrom: 'receivedSince' },
  '/rejections': { from: 'since' },
};

/** Redirects from addresses of earlier versions to those of this one. */
export const redirectMoved: RequestHandler = (req, res, next) => {
  const path = pages.reduce((found, [from, to]) => found.replace(from, to), req.path);
  const renamed = filters[path] ?? {};
  const { search, searchParams } = new URL(req.originalUrl, 'http://own.invalid');
  const isRenamed = Object.keys(renamed).some((name) => searchParams.has(name));
  if (path === req.path && !isRenamed) return next();
  const query = new URLSearchParams([...searchParams].map(([name, value]) => [renamed[name] ?? name, value]));
  res.redirect(308, req.baseUrl + path + (isRenamed ? `?${query}` : search));
};

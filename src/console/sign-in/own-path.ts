/** The path of a page of the console; for anything else, its first page. */
export function ownPath(next: unknown): string {
  const own = 'http://own.invalid';
  if (typeof next !== 'string' || !URL.canParse(next, own)) return '/console';
  const { origin, pathname, search } = new URL(next, own);
  const isOwn = origin === own && /^\/console(\/|$)/.test(pathname);
  const isPage = !/^\/console\/(sign-in|sign-out|assets)/.test(pathname);
  return isOwn && isPage ? pathname + search : '/console';
}

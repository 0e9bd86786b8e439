/** The service's base address, its path ending in a slash. Raises TypeError, without repeating what was given. */
export function readBaseAddress(given: string | URL): URL {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must be an http(s) address without credentials, query or fragment');
  }
  // Without the last slash, resolving a path would replace the prefix instead of following it.
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

import { readFile } from 'node:fs/promises';

/**
 * The bearer token (section 5): itself, a file that holds it, or a function. After a 401 the function is called again
 * with the rejected token as `refused`.
 */
export type TokenSource =
  | string
  | { readonly file: string }
  | ((request: { readonly refused?: string; readonly signal: AbortSignal }) => string | Promise<string>);

/** There is no token, or no valid one; the message never contains it. */
export class NoToken extends Error {
  override readonly name = 'NoToken';
}

/** The token for the next request. A file is read each time, so that a rotated token is used at once. Raises NoToken. */
export async function getToken(source: TokenSource, signal: AbortSignal, refused?: string): Promise<string> {
  const token = await fromSource(source, signal, refused);
  // The HTTP library rejects header values that are no bearer token (RFC 6750), and quotes them.
  if (typeof token !== 'string' || !/^[\w.~+/-]+=*$/.test(token)) {
    throw new NoToken('the token source returned no valid bearer token');
  }
  return token;
}

async function fromSource(source: TokenSource, signal: AbortSignal, refused?: string): Promise<string> {
  if (typeof source === 'string') return source;
  try {
    if (typeof source === 'function') {
      return await source(refused === undefined ? { signal } : { refused, signal });
    }
    return (await readFile(source.file, { encoding: 'utf8', signal })).trim();
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    // Only the error's name: the error of an OAuth library contains the client secret.
    throw new NoToken(`the token source failed (${code ?? name ?? 'unknown error'})`);
  }
}

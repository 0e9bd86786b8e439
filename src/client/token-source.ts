import { readFile } from 'node:fs/promises';

/**
 * Where the bearer token (section 5) comes from: the token itself, a file that holds it, or a function,
 * which gets the token that the service has just refused, if it was asked again because of a 401.
 */
export type TokenSource =
  | string
  | { readonly file: string }
  | ((request: { readonly refused?: string; readonly signal: AbortSignal }) => string | Promise<string>);

/** A token is missing or unusable; the message never holds it. */
export class NoToken extends Error {
  override readonly name = 'NoToken';
}

/** The token for the next request; raises NoToken. A file is read each time, so a changed one counts at once. */
export async function takeToken(source: TokenSource, signal: AbortSignal, refused?: string): Promise<string> {
  const token = await fromSource(source, signal, refused);
  // What is not a bearer token of RFC 6750 would be refused by the HTTP library, which quotes it.
  if (typeof token !== 'string' || !/^[\w.~+/-]+=*$/.test(token)) {
    throw new NoToken('the token source gave no usable bearer token');
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
    // Only the kind of failure: an OAuth library's error holds the secret that it was asked with.
    throw new NoToken(`the token source failed (${code ?? name ?? 'unknown error'})`);
  }
}

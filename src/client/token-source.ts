import { readFile } from 'node:fs/promises';
import { type ErrorContext, Unauthorized } from './errors.ts';
import { codeOf } from './send-request.ts';

/**
 * The bearer token (section 5): itself, a file that holds it, or a function. After a 401 the function is called again
 * with the rejected token as `refused`.
 */
export type TokenSource =
  | string
  | { readonly file: string }
  | ((request: { readonly refused?: string; readonly signal: AbortSignal }) => string | Promise<string>);

/**
 * The token for the next request. A file is read each time, so that a rotated token is used at once. Raises
 * Unauthorized, without the token in its message.
 */
export async function getToken(
  source: TokenSource,
  signal: AbortSignal,
  context: ErrorContext,
  refused?: string,
): Promise<string> {
  let problem = 'the token source returned no valid bearer token';
  try {
    const token: unknown = await fromSource(source, signal, refused);
    // The HTTP library rejects header values that are no bearer token (RFC 6750), and quotes them.
    if (typeof token === 'string' && /^[\w.~+/-]+=*$/.test(token)) return token;
  } catch (error) {
    // Only the error's name: the error of an OAuth library contains the client secret.
    problem = `the token source failed (${codeOf(error)})`;
  }
  if (refused === undefined) throw new Unauthorized(problem, context);
  throw new Unauthorized(`the service responded with 401, and ${problem}`, { ...context, status: 401 });
}

async function fromSource(source: TokenSource, signal: AbortSignal, refused?: string): Promise<string> {
  if (typeof source === 'string') return source;
  if (typeof source === 'function') return source(refused === undefined ? { signal } : { refused, signal });
  return (await readFile(source.file, { encoding: 'utf8', signal })).trim();
}

import { ProviderFault } from './provider-fault.ts';

/** Far more than any provider needs: the groups of a user may be hundreds. */
const mostBytes = 1024 * 1024;

/**
 * Fetches a response whole, within the time limit of its signal.
 *
 * @throws ProviderFault if its body is larger than a megabyte; the rest is not read
 */
export async function limitedFetch(address: string, options: object): Promise<Response> {
  const response = await fetch(address, options);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > mostBytes) throw new ProviderFault(`the response of ${new URL(address).host} is too large`);
    parts.push(part);
  }
  const { status, statusText, headers } = response;
  return new Response(bytes > 0 ? Buffer.concat(parts) : null, { status, statusText, headers });
}

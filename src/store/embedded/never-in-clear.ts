import { neverInClear } from '../client.ts';

/** The address of an embedded server, whose password no connection of this process sends in clear. */
export function withoutClearPassword(url: string): string {
  neverInClear(decodeURIComponent(new URL(url).password));
  return url;
}

import { hostname, userInfo } from 'node:os';
import type { Actor } from '../privacy/log/access-log.ts';

/** The actor of a command: the user of the operating system. */
export function commandActor(): Actor {
  return { id: `command:${userName()}`, address: hostname() };
}

/** A container may run as a user without a name: then `uid 1000`. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

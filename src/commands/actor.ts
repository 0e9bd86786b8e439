import { hostname, userInfo } from 'node:os';
import type { Actor } from '../privacy/log/access-log.ts';

/** Who runs a command. */
export function commandActor(): Actor {
  return { id: `command:${userName()}`, address: hostname() };
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

import { hostname, userInfo } from 'node:os';
import { type Access, type Actor, logAccess } from '../privacy/log/access-log.ts';
import { isReadOnly } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';

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

/**
 * Adds an entry of this command to the access log; before the command shows or does anything.
 *
 * @throws Error where the log cannot be written, with what to do
 */
export async function logCommand(db: Db, access: Omit<Access, 'actor'>): Promise<void> {
  try {
    await logAccess(db, { actor: commandActor(), ...access });
  } catch (error) {
    throw new Error(`The access log could not be written, so nothing is shown or done${adviceOn(error)}`, {
      cause: error,
    });
  }
}

function adviceOn(error: unknown): string {
  if (isReadOnly(error)) return '; connect to the primary: this server is a standby, or set read-only';
  // undefined_function: a database of a former version, or none of ours
  if ((error as { code?: string }).code === '42883') return '; run `receiver migrate` first';
  return '';
}

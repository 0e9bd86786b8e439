import { Refused } from './inbox.ts';
import type { Misfit } from './quarantine.ts';
import { InvalidCallback, NotJson, WrongFamily } from '../http/errors.ts';

/** How an error is noted in the quarantine; undefined if it is not the fault of the body. */
export function misfitOf(error: unknown): Pick<Misfit, 'reason' | 'errors'> | undefined {
  if (error instanceof WrongFamily) return { reason: 'wrong_family', errors: error.errors };
  if (error instanceof InvalidCallback) return { reason: 'invalid', errors: error.errors };
  if (error instanceof NotJson) return { reason: 'not_json', errors: [{ path: '', message: error.message }] };
  if (error instanceof Refused) {
    return { reason: 'refused_by_database', errors: [{ path: '', message: error.message }] };
  }
  return undefined;
}

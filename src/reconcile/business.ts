import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import { type Platform, PlatformUnreadable } from './platform.ts';

/** It is not known whose appointments the platform tells. The message says what to do. */
export class UnknownBusiness extends Error {
  override readonly name = 'UnknownBusiness';
}

/**
 * The business of the rows that are compared: an answer does not name it. It is the one of the platform's directory, or else the
 * only one that has sent something. A business that never sent anything, where others have, has to be named: with a wrong one,
 * every appointment would be missing, and come in a second time.
 *
 * @throws UnknownBusiness
 */
export async function findBusiness(
  db: Db,
  platform: Platform,
  given?: string,
  signal?: AbortSignal,
): Promise<string> {
  const told = await platform.business(signal).catch((error) => {
    // The credentials may have no right to read the directory.
    if (error instanceof PlatformUnreadable) return undefined;
    throw error;
  });
  const { rows } = await sql<{ business_id: string }>`
    (select business_id from senders where business_id in (${told ?? ''}, ${given ?? ''}) and business_id <> '')
    union
    (select business_id from senders where business_id <> '' limit 2)`.execute(db);
  const known = new Set(rows.map(({ business_id }) => business_id));
  if (given && told && given !== told && known.has(told)) {
    throw new UnknownBusiness(`the credentials are those of the business ${told}, not of ${given}`);
  }
  const business = given ?? told;
  if (business && (given || known.has(business) || known.size === 0)) return business;
  if (!business && known.size === 1) return [...known][0]!;
  const reason = business
    ? `the credentials are those of the business ${business}, which has sent nothing; others have`
    : 'the platform does not tell whose credentials these are, and more than one business, or none, has sent something';
  throw new UnknownBusiness(
    `${reason}: name the business once with \`npx receiver reconcile --business <id>\``,
  );
}

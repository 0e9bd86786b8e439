import type { Db } from '../store/tables.ts';
import { allOfIt, cursorText } from './cursor.ts';
import { numberChanges, openFeed } from './open-feed.ts';

/** Opens the feed, if it is not, and returns the cursor behind everything that is committed. */
export async function cursorOfNow(db: Db): Promise<string> {
  await openFeed(db);
  const seen = await numberChanges(db, true);
  return cursorText({ at: { position: seen.position, read: allOfIt }, seen });
}

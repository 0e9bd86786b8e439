import { type Family, hasPersonalKey } from '../families/index.ts';

/** The families of the feed: those whose ids cannot identify a patient. Ids are kept for a month, and are part of cursors. */
export const familiesInFeed = (families: readonly Family[]): Family[] =>
  families.filter((family) => !hasPersonalKey(family));

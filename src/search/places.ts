import { type Aliases, type AliasKind, aliasKinds } from '../store/aliases.ts';

/** A clinic, a doctor or a business whose alias contains what was searched. */
export interface Place {
  kind: AliasKind;
  id: string;
  alias: string;
}

const mostPlaces = 20;

/** The first places whose alias contains a text of two characters or more. */
export function findPlaces(aliases: Aliases | undefined, text: string): Place[] {
  const part = text.toLowerCase();
  if (!aliases || part.length < 2) return [];
  return aliasKinds
    .flatMap((kind) => [...aliases[kind]].map(([id, alias]) => ({ kind, id, alias })))
    .filter(({ alias }) => alias.toLowerCase().includes(part))
    .slice(0, mostPlaces);
}

/** The kinds of ids that can have an alias. */
export const aliasKinds = ['business', 'clinic', 'doctor'] as const;
export type AliasKind = (typeof aliasKinds)[number];

export const isAliasKind = (kind: unknown): kind is AliasKind => aliasKinds.some((known) => known === kind);

/** Aliases by id, of each kind. */
export type Aliases = Record<AliasKind, ReadonlyMap<string, string>>;

/** The ids that a text means: itself, where it is an id, those of this name, or else of a name that has it. */
export function findIds(aliases: ReadonlyMap<string, string>, text: string): string[] {
  if (aliases.has(text)) return [text];
  const wanted = text.toLowerCase();
  const idsOf = (isWanted: (alias: string) => boolean) =>
    [...aliases].flatMap(([id, alias]) => (isWanted(alias.toLowerCase()) ? id : []));
  const same = idsOf((alias) => alias === wanted);
  return same.length > 0 ? same : idsOf((alias) => alias.includes(wanted));
}

export const maxAliasLength = 200;

/** An alias of an id; in a change, an empty one removes it. */
export interface Alias {
  kind: AliasKind;
  id: string;
  alias: string;
}

/** The fault of an alias; undefined: it has none. */
export function findAliasFault({ id, alias }: Pick<Alias, 'id' | 'alias'>): string | undefined {
  if (id === '') return 'the id is empty';
  if (/\p{Cc}/u.test(id + alias) || !(id + alias).isWellFormed())
    return 'the id or the alias has a character that is no text';
  return alias.length > maxAliasLength ? `the alias has more than ${maxAliasLength} characters` : undefined;
}

export interface KnownId {
  kind: AliasKind;
  id: string;
  alias: string | null;
  updated_at: Date | null;
  updated_by: string | null;
}

/** A page has as many. */
export const mostIds = 200;

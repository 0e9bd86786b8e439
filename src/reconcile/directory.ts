import { type Actor, logAccess } from '../privacy/log/access-log.ts';
import {
  type AliasChange,
  type AliasKind,
  findAliasFault,
  maxAliasLength,
  setPlatformAliases,
} from '../store/aliases.ts';
import type { Db } from '../store/tables.ts';

type Name = string | null | undefined;

/** The names of the business of the credentials, its clinics and its doctors. */
interface Directory {
  business?: { business_id?: Name; name?: Name } | null | undefined;
  clinics?: readonly { clinic_id?: Name; name?: Name }[] | null | undefined;
  doctors?: readonly { doctor_id?: Name; name?: Name }[] | null | undefined;
}

export interface DirectoryClient {
  directory: (options?: { signal?: AbortSignal }) => Promise<{ data: Directory }>;
}

/**
 * Sets the platform's names as aliases, except where somebody wrote another, or removed one. Names that the directory lacks
 * stay: old records have their ids.
 *
 * @returns how many names the directory has, and how many aliases were set
 * @throws the client's error, or the database's
 */
export async function refreshAliases(db: Db, client: DirectoryClient, actor: Actor, signal?: AbortSignal) {
  const { data } = await client.directory({ ...(signal && { signal }) });
  const names = namesIn(data);
  const set = await db.transaction().execute(async (tx) => {
    const changed = await setPlatformAliases(tx, names);
    const filter = { from: 'the platform' };
    if (changed > 0) await logAccess(tx, { actor, action: 'aliases', filter, rows: changed });
    return changed;
  });
  return { names: names.length, set };
}

/** Each id once; a name is one line that the page of aliases accepts. */
function namesIn({ business, clinics, doctors }: Directory): AliasChange[] {
  const entries: [AliasKind, Name, Name][] = [
    ['business', business?.business_id, business?.name],
    ...(clinics ?? []).map(({ clinic_id, name }): [AliasKind, Name, Name] => ['clinic', clinic_id, name]),
    ...(doctors ?? []).map(({ doctor_id, name }): [AliasKind, Name, Name] => ['doctor', doctor_id, name]),
  ];
  const named = entries.flatMap(([kind, id, name]) => {
    const alias = oneLine(name ?? '');
    return id?.isWellFormed() && alias && !findAliasFault(id, alias) ? [{ kind, id, alias }] : [];
  });
  return [...new Map(named.map((one) => [JSON.stringify([one.kind, one.id]), one])).values()];
}

const oneLine = (name: string) =>
  name
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, maxAliasLength)
    .toWellFormed();

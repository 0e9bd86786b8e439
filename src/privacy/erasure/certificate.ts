import { sql } from 'kysely';
import { patientKeys } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import type { Counts } from '../counts.ts';

/** The certificate of an erasure, without personal data. */
export interface Certificate {
  id: string;
  erased_at: Date;
  erased_by: string;
  /** Rows that were erased, by table; `withheld`: rows that wait for their destruction. */
  counts: Counts;
  /** When the last of what is withheld is due; null: nothing is withheld. */
  destroy_after: Date | null;
  destroyed_at: Date | null;
  /** The extent of the search; null: by a former version. */
  searched: Searched | null;
}

interface Searched {
  /** The keys under which the id was searched, at any depth, case and separators aside. */
  keys: readonly string[];
  /** The number of the patient's ids: the one that was given, and those that are linked to it. */
  ids: number;
  /** Where the ids were searched as words. */
  words: readonly string[];
  /** The number of bodies with an id as a word that were left to a person. */
  uncertain: number;
}

export const certificateColumns = sql`id, erased_at, erased_by, counts, destroy_after, destroyed_at, searched`;

const searchedForWords = ['events that no family lists', 'the quarantine'];

export async function completeCertificate(
  tx: Db,
  id: string,
  counts: Counts,
  { ids, uncertain }: Pick<Searched, 'ids' | 'uncertain'>,
): Promise<void> {
  const searched: Searched = { keys: patientKeys, ids, words: searchedForWords, uncertain };
  await sql`
    with due as (select max(destroy_at) as last from withheld.records where erasure_id = ${id}::uuid)
    update erasures
    set counts = ${JSON.stringify(counts)}::jsonb, searched = ${JSON.stringify(searched)}::jsonb, destroy_after = due.last,
        destroyed_at = case when due.last is null then erasures.erased_at end
    from due where id = ${id}::uuid`.execute(tx);
}

/** What was withheld since the erasure is destroyed later. */
export async function reopenCertificates(db: Db, condition = sql`true`): Promise<void> {
  await sql`
    update erasures set destroy_after = due.last, destroyed_at = null
    from (
      select erasure_id, max(destroy_at) as last from withheld.records where ${condition} group by erasure_id
    ) due
    where due.erasure_id = erasures.id`.execute(db);
}

export async function readCertificate(db: Db, id: string): Promise<Certificate> {
  const { rows } = await sql<Certificate>`
    select ${certificateColumns} from erasures where id = ${id}`.execute(db);
  return rows[0]!;
}

export type ListedCertificate = Certificate & {
  /** Whether the erasure is still running, so that the certificate is not valid yet. */
  is_running: boolean;
  undecided: number;
};

export async function listCertificates(db: Db, limit = 100): Promise<ListedCertificate[]> {
  const { rows } = await sql<ListedCertificate>`
    select ${certificateColumns}, exists (select from running_erasures r where r.erasure_id = e.id) as is_running,
      (select count(*)::int from uncertain_bodies u where u.erasure_id = e.id and u.decision is null) as undecided
    from erasures e order by erased_at desc, id limit ${limit}`.execute(db);
  return rows;
}

/** The search of a certificate, in a few sentences. */
export function describeSearched(searched: Searched | null): string {
  if (!searched) return 'What was searched is not known: a former version has erased.';
  const { keys, ids, words, uncertain } = searched;
  const left = uncertain === 0 ? 'None was found.' : `${uncertain} were left to a person.`;
  return (
    `Searched: ${ids} ${ids === 1 ? 'id' : 'ids'} under the keys ${keys.join(', ')} at any depth, case and separators aside; ` +
    `as words in the bodies of ${words.join(' and ')}. ${left}`
  );
}

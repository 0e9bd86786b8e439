import { sql } from 'kysely';
import { z } from 'zod';
import { patientKeys } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import type { Counts } from '../counts.ts';
import { type Actor, logAccess } from '../log/access-log.ts';

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
  /** The number of the patient's ids that were given. */
  ids: number;
}

export const certificateColumns = sql`id, erased_at, erased_by, counts, destroy_after, destroyed_at, searched`;

export async function completeCertificate(tx: Db, id: string, counts: Counts, ids: number): Promise<void> {
  const searched: Searched = { keys: patientKeys, ids };
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
};

export async function listCertificates(db: Db, limit = 100): Promise<ListedCertificate[]> {
  const { rows } = await sql<ListedCertificate>`
    select ${certificateColumns}, exists (select from running_erasures r where r.erasure_id = e.id) as is_running
    from erasures e order by erased_at desc, id limit ${limit}`.execute(db);
  return rows;
}

/** The search of a certificate, in a sentence. */
export function describeSearched(searched: Searched | null): string {
  if (!searched) return 'What was searched is not known: a former version has erased.';
  const { keys, ids } = searched;
  return `Searched: ${ids} ${ids === 1 ? 'id' : 'ids'} under the keys ${keys.join(', ')} at any depth, case and separators aside.`;
}

const hash = z.string().regex(/^[\da-f]{64}$/);

/** The list of erasures, to be kept beside the backups: salted hashes and certificates, no personal data. Keep it secret. */
const listSchema = z.object({
  format: z.literal('receiver erasures 1'),
  salt: hash,
  certificates: z.array(
    z.object({
      id: z.guid(),
      erased_at: z.iso.datetime({ offset: true }),
      erased_by: z.string(),
      counts: z.record(z.string(), z.number()),
      destroy_after: z.iso.datetime({ offset: true }).nullable(),
      destroyed_at: z.iso.datetime({ offset: true }).nullable(),
      searched: z.record(z.string(), z.unknown()).nullable().default(null),
    }),
  ),
  erased: z.array(z.object({ hash, until: z.string(), erasure_id: z.guid() })),
});

export type ErasureList = z.infer<typeof listSchema>;

/** @returns the list as JSON */
export async function exportErasures(db: Db, actor: Actor): Promise<string> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ list: string; certificates: number }>`
      select jsonb_pretty(jsonb_build_object(
        'format', 'receiver erasures 1', 'salt', (select encode(salt, 'hex') from erasure_salt),
        'certificates', coalesce((
          select jsonb_agg(to_jsonb(e) order by erased_at, id) from (select ${certificateColumns} from erasures) e), '[]'),
        'erased', coalesce((select jsonb_agg(jsonb_build_object(
          'hash', encode(hash, 'hex'), 'until', until, 'erasure_id', erasure_id) order by hash) from erased), '[]')
      )) as list, (select count(*)::int from erasures) as certificates`.execute(tx);
    await logAccess(tx, { actor, action: 'erasures export', rows: rows[0]!.certificates });
    return `${rows[0]!.list}\n`;
  });
}

/** @throws Error where the text is no list of erasures */
export function parseErasures(text: string): ErasureList {
  try {
    return listSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error('This file is no list of erasures; `receiver erasures export` writes one', {
      cause: error,
    });
  }
}

/** Adds a list to that of this database. @returns the number of erasures that are new here */
export async function addToList(tx: Db, { salt, certificates, erased }: ErasureList): Promise<number> {
  const { rows } = await sql<{ salt: string; empty: boolean }>`
    select encode(salt, 'hex') as salt, not exists (select from erased) and not exists (select from patient_holds) as empty
    from erasure_salt`.execute(tx);
  if (rows[0]!.salt !== salt) {
    // A backup of a version without erasures has a new salt.
    if (!rows[0]!.empty)
      throw new Error('This list of erasures belongs to another database, which has its own erasures.');
    await sql`update erasure_salt set salt = decode(${salt}, 'hex')`.execute(tx);
    await sql`truncate patient_pseudonyms`.execute(tx);
  }
  const added = await sql`
    insert into erasures (${certificateColumns})
    select ${certificateColumns} from jsonb_populate_recordset(null::erasures, ${JSON.stringify(certificates)}::jsonb)
    on conflict (id) do nothing`.execute(tx);
  await sql`
    insert into erased (hash, until, erasure_id)
    select decode(hash, 'hex'), until, erasure_id
    from jsonb_to_recordset(${JSON.stringify(erased)}::jsonb) as listed (hash text, until timestamptz, erasure_id uuid)
    on conflict (hash) do update
      set until = greatest(erased.until, excluded.until), erasure_id = excluded.erasure_id`.execute(tx);
  return Number(added.numAffectedRows);
}

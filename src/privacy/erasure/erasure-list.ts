import { sql } from 'kysely';
import { z } from 'zod';
import type { Db } from '../../store/tables.ts';
import type { Patient } from '../find-deliveries.ts';
import { type Actor, logAccess } from '../log/access-log.ts';
import { type Certificate, certificateColumns } from './erase.ts';

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
  // A list of a former version has none.
  words: z
    .array(
      z.object({
        words: z.array(z.string().regex(/^-?\d+$/)),
        business_id: z.string(),
        until: z.string(),
        erasure_id: z.guid(),
        patients: z.array(hash),
      }),
    )
    .default([]),
});

export type ErasureList = z.infer<typeof listSchema>;

export type ListedCertificate = Certificate & {
  /** Whether the erasure is still running, so that the certificate is not valid yet. */
  is_running: boolean;
  /** The number of bodies that wait for a person. */
  undecided: number;
};

/** The certificates, newest first. */
export async function listCertificates(db: Db, limit = 100): Promise<ListedCertificate[]> {
  const { rows } = await sql<ListedCertificate>`
    select ${certificateColumns}, exists (select from running_erasures r where r.erasure_id = e.id) as is_running,
      (select count(*)::int from uncertain_bodies u where u.erasure_id = e.id and u.decision is null) as undecided
    from erasures e order by erased_at desc, id limit ${limit}`.execute(db);
  return rows;
}

/** Whether an erasure of the patient is running, in this business or in every one. */
export async function isBeingErased(db: Db, { id, businessId }: Patient): Promise<boolean> {
  const { rows } = await sql<{ running: boolean }>`
    select exists (
      select from running_erasures
      where (patient_id = ${id} or ${id} = any(linked)) and (business_id is null or business_id = ${businessId ?? null} or ${!businessId})
    ) as running`.execute(db);
  return rows[0]!.running;
}

/** @returns the list as JSON */
export async function exportErasures(db: Db, actor: Actor): Promise<string> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ list: string; certificates: number }>`
      select jsonb_pretty(jsonb_build_object(
        'format', 'receiver erasures 1', 'salt', (select encode(salt, 'hex') from erasure_salt),
        'certificates', coalesce((
          select jsonb_agg(to_jsonb(e) order by erased_at, id) from (select ${certificateColumns} from erasures) e), '[]'),
        'erased', coalesce((select jsonb_agg(jsonb_build_object(
          'hash', encode(hash, 'hex'), 'until', until, 'erasure_id', erasure_id) order by hash) from erased), '[]'),
        'words', coalesce((select jsonb_agg(jsonb_build_object(
          'words', words::text[], 'business_id', business_id, 'until', until, 'erasure_id', erasure_id,
          'patients', array(select encode(one, 'hex') from unnest(patients) as one)) order by words) from erased_words), '[]')
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
    throw new Error('This file is no list of erasures; `receiver patient erasures export` writes one', {
      cause: error,
    });
  }
}

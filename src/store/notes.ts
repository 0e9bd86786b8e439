import { sql } from 'kysely';
import type { Db } from './tables.ts';

export interface Note {
  /** Empty: it was marked as seen. */
  text: string;
  created_at: Date;
  created_by: string;
}

/** The notes on a delivery or a rejected body, oldest first. */
export async function readNotes(db: Db, subject: string): Promise<Note[]> {
  const { rows } = await sql<Note>`
    select text, created_at, created_by from notes
    where subject_id = ${subject}::uuid order by created_at, id limit 200`.execute(db);
  return rows;
}

/**
 * Adds a note to a delivery or a rejected body. That is locked, so that the note is deleted with it.
 *
 * @returns false: there is no such delivery or body
 */
export async function addNote(tx: Db, subject: string, text: string, actor: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with delivery as (select id from inbox where id = ${subject}::uuid for key share),
         body as (select id from quarantine where id = ${subject}::uuid for key share)
    insert into notes (subject_id, text, created_by)
    select id, ${text}, ${actor} from (table delivery union all table body) as subject`.execute(tx);
  return numAffectedRows === 1n;
}

/** How many notes a row has, as text; `seen` if all of them are marks. */
export const notesOf = (id: ReturnType<typeof sql>) => sql<string | null>`
  (select case when count(*) > 0 then coalesce(nullif(count(*) filter (where n.text <> ''), 0)::text, 'seen') end
   from notes n where n.subject_id = ${id})`;

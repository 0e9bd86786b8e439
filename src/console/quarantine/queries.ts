import { sql } from 'kysely';
import { faultsKey, type QuarantineRow } from '../../intake/quarantine-rows.ts';
import { notesOf } from '../../store/notes.ts';
import type { Db } from '../../store/tables.ts';
import { allOf, takePage } from '../store.ts';

type Columns = 'id' | 'reason' | 'received_at' | 'last_received_at' | 'count' | 'replayed_at' | 'corrects';

/** A body without its content. */
export interface QuarantineLine extends Pick<QuarantineRow, Columns> {
  family: string | null;
  business: string | null;
  bytes: number;
  /** How many notes it has; `seen`: it was only marked. */
  notes: string | null;
}

const columns = sql`
  q.id, p.family, q.business_id as business, q.reason, q.received_at, q.last_received_at,
  q.count, length(q.body) as bytes, q.replayed_at, q.corrects,
  ${notesOf(sql`q.id`)} as notes`;

interface BodyFilter {
  reason?: string | undefined;
  faults?: string | undefined;
  before?: string | undefined;
  since?: Date | undefined;
}

const pageRows = 50;

/** A page of the rejected bodies that were not replayed, last received first. */
export async function listBodies(db: Db, { reason, faults, before, since }: BodyFilter) {
  const conditions = allOf([
    sql`q.replayed_at is null`,
    reason && sql`q.reason = ${reason}`,
    faults && sql`${faultsKey} = ${faults}`,
    since && sql`q.last_received_at >= ${since}`,
    before &&
      sql`(q.last_received_at, q.id) < (select last_received_at, id from quarantine where id = ${before}::uuid)`,
  ]);
  const { rows } = await sql<QuarantineLine>`
    select ${columns} from quarantine q left join callback_paths p using (path)
    where ${conditions}
    order by q.last_received_at desc, q.id desc limit ${pageRows + 1}`.execute(db);
  return takePage(rows, pageRows);
}

export type QuarantinedBody = QuarantineLine &
  Pick<QuarantineRow, 'errors' | 'body' | 'path' | 'acknowledged'> & {
    /** The id of the body that corrects it. */
    corrected_by: string | null;
  };

export async function readBody(db: Db, id: string): Promise<QuarantinedBody | undefined> {
  const { rows } = await sql<QuarantinedBody>`
    select ${columns}, q.errors, q.body, q.path, q.acknowledged,
           (select id from quarantine c where c.corrects = q.id and c.corrects is not null order by received_at desc limit 1) as corrected_by
    from quarantine q left join callback_paths p using (path) where q.id = ${id}::uuid`.execute(db);
  return rows[0];
}

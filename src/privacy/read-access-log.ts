import { type Kysely, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';
import type { AccessAction } from './access-log.ts';

/** Which entries; absent fields do not filter. */
export interface AccessLogFilter {
  actor?: string | undefined;
  action?: AccessAction | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

export interface AccessLogPage {
  /** Entries older than this one. */
  before?: number | undefined;
  size: number;
}

export interface AccessLogEntry {
  entry: number;
  at: Date;
  actor: string;
  actor_name: string | null;
  address: string | null;
  action: AccessAction;
  filter: Record<string, unknown>;
  rows: number | null;
  /** How many patients it is about. */
  patient_count: number;
  /** The first of them: their ids, or `erased` and the beginning of the pseudonym. */
  patients: string[];
}

/** How many patients of an entry are named. */
const namedPatients = 10;

/** Entries of the access log, the newest first. */
export async function readAccessLog(
  db: Kysely<Tables>,
  { actor, action, since, until }: AccessLogFilter,
  { before, size }: AccessLogPage,
): Promise<{ entries: AccessLogEntry[]; more: boolean }> {
  const conditions = [
    sql`true`,
    actor && sql`(actor = ${actor} or actor_name = ${actor})`,
    action && sql`action = ${action}`,
    since && sql`at >= ${since}`,
    until && sql`at < ${until}`,
    before && sql`entry < ${before}`,
  ].filter((condition) => typeof condition === 'object');
  const { rows } = await sql<AccessLogEntry>`
    select entry::float8 as entry, at, actor, actor_name, address, action, filter, rows::float8 as rows,
           cardinality(patients) as patient_count,
           array(select coalesce(patient_id, 'erased ' || left(encode(seen.pseudonym, 'hex'), 8))
                 from unnest(patients[1:${sql.lit(namedPatients)}]) with ordinality as seen (pseudonym, place)
                 left join patient_pseudonyms using (pseudonym) order by place) as patients
    from access_log where ${sql.join(conditions, sql` and `)}
    order by access_log.entry desc limit ${size + 1}`.execute(db);
  return { entries: rows.slice(0, size), more: rows.length > size };
}

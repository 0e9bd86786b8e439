import { type Kysely, sql } from 'kysely';
import { faultsKey } from '../../intake/quarantine-rows.ts';
import type { Tables } from '../../store/tables.ts';

type Faults = { path: string; message: string }[];

export interface QuarantineGroup {
  reason: string;
  /** A hash of the errors, see `faultsKey`. */
  key: string;
  faults: Faults;
  bodies: number;
  times: number;
  last: Date;
}

/** The quarantine by reason and errors, the most frequent first. */
export async function readQuarantineGroups(db: Kysely<Tables>): Promise<QuarantineGroup[]> {
  const { rows } = await sql<QuarantineGroup>`
    select reason, ${faultsKey} as key, (array_agg(errors))[1] as faults, count(*)::int as bodies,
           sum(count)::int as times, max(last_received_at) as last
    from quarantine where replayed_at is null
    group by reason, ${faultsKey}
    order by bodies desc, last desc limit 200`.execute(db);
  return rows;
}

export interface QuarantineLine {
  id: string;
  family: string | null;
  business: string | null;
  reason: string;
  received_at: Date;
  last_received_at: Date;
  times: number;
  bytes: number;
  replayed_at: Date | null;
}

const columns = sql`
  q.id, p.family, reporting.business_in(q.body) as business, q.reason, q.received_at, q.last_received_at,
  q.count as times, length(q.body) as bytes, q.replayed_at`;

/** Bodies without their content, last received first. */
export async function listBodies(
  db: Kysely<Tables>,
  {
    reason,
    key,
    before,
  }: { reason?: string | undefined; key?: string | undefined; before?: string | undefined },
  size = 50,
): Promise<{ rows: QuarantineLine[]; more: boolean }> {
  const conditions = [
    sql`q.replayed_at is null`,
    ...(reason ? [sql`q.reason = ${reason}`] : []),
    ...(key ? [sql`${faultsKey} = ${key}`] : []),
    ...(before
      ? [
          sql`(q.last_received_at, q.id) < (select b.last_received_at, b.id from quarantine b where b.id = ${before}::uuid)`,
        ]
      : []),
  ];
  const { rows } = await sql<QuarantineLine>`
    select ${columns} from quarantine q left join callback_paths p using (path)
    where ${sql.join(conditions, sql` and `)}
    order by q.last_received_at desc, q.id desc limit ${size + 1}`.execute(db);
  return { rows: rows.slice(0, size), more: rows.length > size };
}

export interface QuarantinedBody extends QuarantineLine {
  faults: Faults;
  body: Buffer;
}

export async function readBody(db: Kysely<Tables>, id: string): Promise<QuarantinedBody | undefined> {
  const { rows } = await sql<QuarantinedBody>`
    select ${columns}, q.errors as faults, q.body
    from quarantine q left join callback_paths p using (path) where q.id = ${id}::uuid`.execute(db);
  return rows[0];
}

import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Core } from '../feature.ts';
import { gateLock, type RecordKey } from '../receiver/intake/gate.ts';
import { type Certificate, reduceRecords } from './erase.ts';

/** The certificates of erasures, newest first. */
export async function listErasures({ db }: Pick<Core, 'db'>, limit: number): Promise<Certificate[]> {
  const { rows } = await sql<Certificate>`
    select id, actor, started_at as "startedAt", completed_at as "completedAt", counts
    from receiver.erasures order by started_at desc limit ${limit}`.execute(db);
  return rows;
}

const list = z.object({
  salt: z.string().min(1),
  erasures: z.array(
    z.object({
      id: z.uuid(),
      actor: z.string(),
      started_at: z.string(),
      completed_at: z.string().nullable(),
      until: z.string(),
      counts: z.record(z.string(), z.number()),
    }),
  ),
  erased: z.array(z.object({ hash: z.string(), until: z.string(), erasure: z.uuid() })),
});

/** The list of erasures, to be kept beside the backups: salted hashes and certificates, no ids. Who has it can test an id. */
export async function exportErasures({ db }: Pick<Core, 'db'>): Promise<string> {
  const { rows } = await sql<{ list: unknown }>`
    select json_build_object(
      'salt', (select value from receiver.settings where name = 'salt'),
      'erasures', (select coalesce(json_agg(json_build_object('id', id, 'actor', actor, 'started_at', started_at,
                    'completed_at', completed_at, 'until', until, 'counts', counts)), '[]') from receiver.erasures),
      'erased', (select coalesce(json_agg(json_build_object('hash', hash, 'until', until::text, 'erasure', erasure)), '[]')
                 from receiver.erased)) as list`.execute(db);
  return `${JSON.stringify(rows[0]!.list, null, 2)}\n`;
}

/** Records of one step. */
const maxRecords = 500;
/** The list may be long. */
const statementMs = 60_000;

/**
 * Erases again what a restored backup has brought back, and begins a new epoch of the feed.
 *
 * @param file written by `exportErasures`
 * @returns the number of callbacks that were reduced
 * @throws Error where it is of another database
 */
export async function applyErasures(
  core: Core,
  file: string,
  onProgress?: (callbacks: number) => void,
): Promise<{ erasures: number; callbacks: number }> {
  const { salt, erasures, erased } = list.parse(JSON.parse(await readFile(file, 'utf8')));
  await core.db.transaction().execute(async (tx) => {
    await sql.raw(gateLock(statementMs)).execute(tx);
    const { rows } = await sql<{ other: boolean; used: boolean }>`
      select value <> ${salt} as other, exists (select from receiver.erased) as used
      from receiver.settings where name = 'salt'`.execute(tx);
    if (rows[0]!.other && rows[0]!.used)
      throw new Error('The list is of another database, and this one has erasures of its own');
    await sql`update receiver.settings set value = ${salt} where name = 'salt'`.execute(tx);
    await sql`
      insert into receiver.erasures (id, actor, started_at, completed_at, until, counts)
      select id, actor, started_at, coalesce(completed_at, started_at), until, counts
      from jsonb_populate_recordset(null::receiver.erasures, ${JSON.stringify(erasures)}::jsonb)
      on conflict (id) do nothing`.execute(tx);
    await sql`
      insert into receiver.erased
      select * from jsonb_populate_recordset(null::receiver.erased, ${JSON.stringify(erased)}::jsonb)
      on conflict (hash) do update set until = greatest(erased.until, excluded.until)`.execute(tx);
    await sql`
      insert into receiver.settings values ('feed_epoch', right(gen_random_uuid()::text, 12))
      on conflict (name) do update set value = excluded.value`.execute(tx);
  });
  let callbacks = 0;
  for (let last: RecordKey | undefined; ; ) {
    const { rows } = await sql<RecordKey & { isGated: boolean }>`
      select family, business_id as "businessId", record_id as "recordId",
             receiver.hash_of(concat_ws(':', 'r', family, business_id, record_id)) in (select hash from receiver.erased)
             or bool_or(exists (select from unnest(subjects) s where receiver.hash_of(s) in (select hash from receiver.erased))) as "isGated"
      from receiver.inbox
      where ${last === undefined} or (business_id, family, record_id)
            > (${last?.businessId ?? ''}, ${last?.family ?? ''}, ${last?.recordId ?? ''})
      group by business_id, family, record_id order by business_id, family, record_id limit ${maxRecords}`.execute(
      core.db,
    );
    const gated = rows.filter(({ isGated }) => isGated);
    if (gated.length > 0) callbacks += await reduceRecords(core, gated);
    onProgress?.(rows.length);
    last = rows.at(-1);
    if (rows.length < maxRecords) return { erasures: erasures.length, callbacks };
  }
}

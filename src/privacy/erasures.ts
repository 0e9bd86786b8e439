import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { z } from 'zod';
import { hashedPrefix } from '../callbacks/reduce.ts';
import type { Core } from '../receiver/feature.ts';
import { gateLock } from '../receiver/gate/gate.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { type Db, writeSettings } from '../receiver/store/tables.ts';
import { continueList } from './erase.ts';

/**
 * What is withheld of an erasure, as it was: JSON of each callback, and of each body of the quarantine.
 *
 * @throws Error where there is no such erasure, or the access log cannot be written
 */
export async function readWithheld(core: Core, actor: Actor, id: string): Promise<string[]> {
  const { db } = core;
  const certificate = await db
    .selectFrom('receiver.erasures')
    .select('patient_hashes')
    .where('id', '=', id)
    .executeTakeFirst();
  if (!certificate) throw new Error(`There is no erasure ${id}`);
  // They are hashed already.
  const subjects = certificate.patient_hashes.map((hash) => hashedPrefix + hash);
  await logAccess(core, { actor, action: 'erasures show', subjects, filter: { erasure: id } });
  const withheld = await db
    .selectFrom('receiver.withheld')
    .select(['id', callbackText.as('callback'), quarantineRow.as('row')])
    .where('erasure', '=', id)
    .orderBy('id')
    .execute();
  return withheld.map(({ callback, row }) => {
    // PostgreSQL writes a bytea as \x and digits.
    const body = row.body && Buffer.from(row.body.slice(2), 'hex').toString();
    return callback ?? JSON.stringify({ ...row, body });
  });
}

// As text, with all digits of its numbers.
const callbackText = sql<string | null>`case when envelope is not null then
  jsonb_build_object('id', id, 'family', family, 'received_at', received_at, 'callback', envelope)::text end`;
const quarantineRow = sql<{ body?: string }>`coalesce(delivery->'delivery', delivery)`;

// PostgreSQL checks the columns.
const rows = z.array(z.record(z.string(), z.unknown()));
const list = z.object({ salt: z.string().min(1), erasures: rows, erased: rows });

/** The list of erasures, to be kept beside the backups: salted hashes and certificates, no ids. Its reader can test an id. */
export async function exportErasures(db: Db): Promise<string> {
  const { rows } = await sql<{ list: unknown }>`
    select json_build_object(
      'salt', (select value from receiver.settings where name = 'salt'),
      'erasures', (select coalesce(json_agg(json_build_object('id', id, 'actor', actor, 'started_at', started_at,
                    'until', until, 'patient_hashes', patient_hashes, 'counts', counts)), '[]') from receiver.erasures),
      'erased', (select coalesce(json_agg(json_build_object('hash', hash, 'until', until::text, 'erasure', erasure)), '[]')
                 from receiver.erased)) as list`.execute(db);
  return `${JSON.stringify(rows[0]!.list, null, 2)}\n`;
}

const statementMs = 60_000;

/**
 * Erases again what a restored backup has brought back, and begins a new epoch of the feed. The receiver continues it after
 * an interruption.
 *
 * @returns the number of erasures @throws Error where the file is of another database
 */
export async function applyErasures(
  core: Core,
  file: string,
  onProgress?: (callbacks: number) => void,
): Promise<number> {
  const { salt, erasures, erased } = parseList(file, await readFile(file, 'utf8'));
  await core.db.transaction().execute(async (tx) => {
    await sql.raw(gateLock(statementMs)).execute(tx);
    const { rows } = await sql`select where receiver.adopt_salt(${salt})`.execute(tx);
    if (rows.length === 0)
      throw new Error('The list is of another database, and this one has hashes of patients of its own');
    await sql`
      insert into receiver.erasures (id, actor, started_at, until, patient_hashes, counts)
      select id, actor, started_at, until, patient_hashes, counts
      from jsonb_populate_recordset(null::receiver.erasures, ${JSON.stringify(erasures)}::jsonb)
      on conflict (id) do update set completed_at = null`.execute(tx);
    await sql`
      select receiver.gate(hash, until, erasure)
      from jsonb_populate_recordset(null::receiver.erased, ${JSON.stringify(erased)}::jsonb)`.execute(tx);
    await writeSettings(tx, { feed_epoch: randomUUID().slice(-12) });
  });
  await continueList(core, { onProgress });
  return erasures.length;
}

function parseList(file: string, text: string) {
  try {
    return list.parse(JSON.parse(text));
  } catch {
    throw new Error(`${file} is not what receiver erasures export writes, or a part of it`);
  }
}

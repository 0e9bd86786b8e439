import { sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import { insertQuery } from '../../intake/insert-deliveries.ts';
import { quarantineQuery, type RejectedBody } from '../../intake/quarantine.ts';
import type { Db } from '../../store/tables.ts';
import { runText } from '../../store/transactions.ts';
import { type Actor, logAccess } from '../log/access-log.ts';
import { withhold } from './erase-rows.ts';
import { reopenCertificates } from './erasure-list.ts';

/** A body that waits for a person. */
export interface UncertainBody {
  id: string;
  erasure_id: string;
  source: 'inbox' | 'quarantine';
  business_id: string;
  /** The reason of the rejection, where the body was rejected. */
  event: string | null;
  event_time: Date | null;
  received_at: Date;
}

const listedColumns = sql`id, erasure_id, source, business_id, event, event_time, received_at`;

/** The bodies without a decision, oldest first; without their content. */
export async function readUncertain(db: Db, limit: number): Promise<UncertainBody[]> {
  const { rows } = await sql<UncertainBody>`
    select ${listedColumns} from uncertain_bodies where decision is null
    order by received_at, id limit ${limit}`.execute(db);
  return rows;
}

export const decisions = ['erase', 'keep'] as const;
export type Decision = (typeof decisions)[number];

interface Kept extends Pick<UncertainBody, 'source'> {
  /** The callback of a delivery as text, with all digits of its numbers. */
  envelope: string;
  content: { family: string; body: string } & Pick<
    RejectedBody,
    'path' | 'reason' | 'errors' | 'acknowledged' | 'corrects' | 'deliveryId'
  >;
}

const keptColumns = sql`source, content, jsonb_pretty(content->'envelope') as envelope`;

/** The body as text, once the entry in the access log is written; undefined: somebody has decided. */
export async function readUncertainBody(db: Db, id: string, erasureId: string) {
  const { rows } = await sql<UncertainBody & Kept>`
    select ${listedColumns}, ${keptColumns} from uncertain_bodies
    where id = ${id}::uuid and erasure_id = ${erasureId}::uuid and decision is null`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { content, envelope, ...listed } = row;
  return { ...listed, body: envelope ?? String(bytesOf(content)) };
}

const bytesOf = ({ body }: Kept['content']) => Buffer.from(body.slice(2), 'hex');

/**
 * Erases a body: it is withheld like what is certain; or stores it again, unless it names a patient who was erased meanwhile.
 *
 * @param options `keepMs`: how long erased data is withheld
 * @returns false where somebody has decided already
 */
export async function decide(
  db: Db,
  families: readonly Family[],
  { id, erasureId, decision }: { id: string; erasureId: string; decision: Decision },
  { actor, keepMs }: { actor: Actor; keepMs: number },
): Promise<boolean> {
  const isBody = sql`id = ${id}::uuid and erasure_id = ${erasureId}::uuid`;
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<Kept & { patients: Buffer[] | null }>`
      select ${keptColumns}, (select patients from erased_words e where e.erasure_id = u.erasure_id limit 1) as patients
      from uncertain_bodies u where ${isBody} and decision is null for update`.execute(tx);
    const [row] = rows;
    if (!row) return false;
    if (decision === 'erase') {
      const body = sql`select received_at, content from uncertain_bodies where ${isBody}`;
      await withhold(tx, row.source, body, { erasureId, patients: row.patients ?? [], keepMs });
      await reopenCertificates(tx, sql`erasure_id = ${erasureId}::uuid`);
    }
    await sql`
      update uncertain_bodies set content = null, decision = ${decision}, decided_at = now(), decided_by = ${actor.id}
      where ${isBody}`.execute(tx);
    if (decision === 'keep') await storeAgain(tx, families, id, row);
    await logAccess(tx, { actor, action: decision, filter: { body: id, erasure: erasureId }, rows: 1 });
    return true;
  });
}

/** It passes the gate as if it came now. */
async function storeAgain(
  tx: Db,
  families: readonly Family[],
  id: string,
  { source, envelope, content }: Kept,
): Promise<void> {
  if (source === 'inbox') {
    const body = Buffer.from(envelope);
    const { text, values } = insertQuery([{ id, family: content.family, body }], { timeoutMs: 0 });
    await runText(tx, text, values);
    return;
  }
  const { rows } = await sql<{ family: string }>`
    select family from callback_paths where path = ${content.path}`.execute(tx);
  const family = families.find(({ name }) => name === rows[0]?.family);
  const { text, values } = quarantineQuery([{ ...content, id, family, body: bytesOf(content) }], families);
  await runText(tx, text, values);
}
